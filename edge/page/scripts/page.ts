/** What the other functions use of `enhancePage`. */
export interface Page {
  /** Texts of the page by their name. */
  texts: () => Record<string, string>;
  /** Requests a page with the key or token. */
  fetchPage: (url: string, signal?: AbortSignal) => Promise<Document>;
  /** Shows another state of the page. `isNew` adds it to the history. */
  load: (url: string, movesFocus: boolean, isNew?: boolean) => Promise<void>;
}

/** Loads pages within this one, and marks changed forms. */
export function enhancePage(): Page {
  const main = (): HTMLElement => document.querySelector("main")!;
  const form = (): HTMLFormElement | null => document.querySelector("#query");
  const texts = (): Record<string, string> => JSON.parse(main().dataset.texts ?? "{}");
  const parse = (text: string) => new DOMParser().parseFromString(text, "text/html");
  const FILE_BUTTON = "[formaction='/download']";
  /** Fields of the chosen file, and those that do not change the results. */
  const FILE = ["tool", "columns", "tidy"];
  const DISPLAY = [...FILE, "lang"];
  let current = new AbortController();
  let timer = 0;
  /** Settings of the form that the results are for. A browser may have restored other values. */
  let shown = settingsOf(parse(form()?.outerHTML ?? "").forms[0]);
  const observer = new IntersectionObserver(([entry]) => {
    const bar = document.querySelector<HTMLElement>(".download-bar");
    if (bar && entry) bar.hidden = entry.isIntersecting;
  });

  document.documentElement.classList.add("scripted");
  // The page of a failed download has the address of the form.
  if (location.pathname === "/download") history.replaceState(null, "", main().dataset.url!);
  prepare();
  for (const type of ["input", "change"]) document.addEventListener(type, onChange);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("click", onClick);
  // A link to a part of the page is a state, too, but its content is there.
  addEventListener("popstate", () => {
    if (location.hash === "") load(location.href, false);
  });
  // A browser may restore the form's values after this script.
  addEventListener("pageshow", update);
  return { texts, fetchPage, load };

  function prepare(): void {
    observer.disconnect();
    const card = document.querySelector(".take");
    if (card) observer.observe(card);
    const fragment = document.querySelector<HTMLAnchorElement>("a[data-fragment]");
    if (fragment) loadFragment(fragment);
    startRetry();
    update();
  }

  function parametersOf(element: HTMLFormElement | null | undefined): URLSearchParams {
    const fields = [...element ? new FormData(element) : []]
      .map(([name, value]) => [name, String(value).trim()]);
    // The key or token must not be in an address.
    return new URLSearchParams(fields.filter(([name, value]) => name !== "token" && value !== ""));
  }

  /** Equal for forms that select the same data. */
  function settingsOf(element: HTMLFormElement | null | undefined, typed = ""): string {
    const isSetting = ([name, value]: [name: string, value: string]) =>
      !DISPLAY.includes(name) && (name !== "characteristic" || value !== typed);
    return [...parametersOf(element)].filter(isSetting).map((pair) => pair.join("=")).sort()
      .join("&");
  }

  /** Marks results of another form, and blocks their download. */
  function update(): void {
    // A name that is being typed is not chosen yet.
    const typed = document.querySelector<HTMLInputElement>("#what:focus")?.value.trim();
    const isStale = settingsOf(form(), typed) !== shown;
    document.body.classList.toggle("stale", isStale);
    for (const button of document.querySelectorAll<HTMLButtonElement>(FILE_BUTTON)) {
      button.disabled = isStale;
    }
  }

  function onChange({ target, type }: Event): void {
    const input = target as HTMLInputElement;
    const chip = input.checked ? null : input.closest(".chip");
    // A chip that is unchecked is gone. The keyboard stays in the form; a tap does not open that of a phone.
    if (chip && input.matches(":focus-visible")) {
      document.querySelector<HTMLElement>("#what")!.focus();
    }
    chip?.remove();
    update();
    if (type === "change" && input.matches("body:not(.stale) :is([name=columns], [name=tidy])")) {
      load(withFile(main().dataset.url!), false, true);
    }
  }

  /** Adds the chosen file of the form to the URL of a page. */
  function withFile(url: string): string {
    const { pathname, searchParams } = new URL(url, location.href);
    const chosen = parametersOf(form());
    for (const name of FILE) {
      // The last one, because a checked box follows the hidden value of an unchecked one.
      const value = chosen.getAll(name).at(-1);
      if (value !== undefined) searchParams.set(name, value);
    }
    return `${pathname}?${searchParams}`;
  }

  function onSubmit(event: SubmitEvent): void {
    // The browser itself downloads files.
    if (event.target !== form() || event.submitter?.matches(FILE_BUTTON)) return;
    event.preventDefault();
    const { pathname, searchParams } = new URL(form()!.getAttribute("action")!, location.href);
    const parameters = new URLSearchParams([...searchParams, ...parametersOf(form())]);
    load(`${pathname}?${parameters}`, true, true);
  }

  function onClick(event: MouseEvent): void {
    const target = event.target as Element;
    if (target.matches(".copy")) {
      const code = document.querySelector(".tabs :checked + label + pre")!;
      return void copy(target, code.textContent);
    }
    const link = target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin || link.hash !== "") return;
    event.preventDefault();
    if (link.matches(".copy-link")) return void copy(link, link.href);
    const url = link.matches(".language") ? withFile(link.href) : link.href;
    load(url, link.pathname !== location.pathname, true);
  }

  async function copy(element: Element, value: string): Promise<void> {
    const before = element.textContent;
    await navigator.clipboard?.writeText(value).then(() => {
      element.textContent = texts().copied!;
      setTimeout(() => element.textContent = before, 2000);
    }, () => {});
  }

  async function fetchPage(url: string, signal?: AbortSignal): Promise<Document> {
    const headers: Record<string, string> = {};
    // The key or token is stored only in its input.
    const credential = document.querySelector<HTMLInputElement>("#credential")?.value.trim();
    // Not `form.dataset`, which is the input with the name "dataset".
    const isKey = form()?.getAttribute("data-access") === "caller";
    if (credential && isKey) headers["x-api-key"] = credential;
    else if (credential) headers.authorization = `Bearer ${credential}`;
    const response = await fetch(url, { headers, signal: signal ?? null });
    if (!response.headers.get("content-type")?.startsWith("text/html")) {
      throw new Error(String(response.status));
    }
    return parse(await response.text());
  }

  async function load(url: string, movesFocus: boolean, isNew = false): Promise<void> {
    current.abort();
    current = new AbortController();
    clearInterval(timer);
    const { signal } = current;
    const submitted = settingsOf(form());
    const focused = document.activeElement as HTMLElement;
    setLoading(true);
    try {
      const page = await fetchPage(url, signal);
      shown = settingsOf(page.querySelector<HTMLFormElement>("#query"));
      // What the user typed in the meantime stays; the new results are for the old form.
      const kept = settingsOf(form()) === submitted ? "#credential" : "#query";
      const own = document.querySelector(kept);
      if (own) page.querySelector(kept)?.replaceWith(own);
      document.body.replaceWith(page.body);
      document.title = page.title;
      document.documentElement.lang = page.documentElement.lang;
      history[isNew ? "pushState" : "replaceState"](null, "", main().dataset.url ?? url);
      prepare();
      if (kept === "#query") return focused.focus();
      const results = ["[role=alert]", "#count", "#results"];
      const targets = movesFocus
        ? results.map((selector) => document.querySelector<HTMLElement>(selector))
        : [...document.querySelectorAll<HTMLElement>("a, button, input")]
          .filter((element) => describe(element) === describe(focused))
          .concat(document.querySelector<HTMLElement>("#results")!);
      targets.find(Boolean)?.focus({ preventScroll: true });
      if (movesFocus) document.querySelector("#results")!.scrollIntoView();
    } catch (error) {
      if (!signal.aborted) showError(error as Error);
    } finally {
      if (!signal.aborted) setLoading(false);
    }
  }

  /** Equal for elements that have the same function in two states of the page. */
  function describe(element: Element): string {
    const attributes = ["class", "name", "value"].map((name) => element.getAttribute(name));
    return [...attributes, element.textContent].join();
  }

  function setLoading(isLoading: boolean): void {
    for (const element of document.querySelectorAll("#results, .show")) {
      element.ariaBusy = String(isLoading);
    }
    const status = document.querySelector("#form-status");
    if (status) status.textContent = isLoading ? texts().loading! : "";
  }

  function showError({ message }: Error): void {
    const alert = document.createElement("div");
    alert.className = "alert";
    alert.role = "alert";
    alert.textContent = `${texts().failed} ${message}`;
    document.querySelector("#results")!.replaceChildren(alert);
  }

  /** Counts down, then requests the page again. */
  function startRetry(): void {
    clearInterval(timer);
    const notice = document.querySelector<HTMLElement>("[data-retry]");
    if (!notice) return;
    let seconds = Number(notice.dataset.retry);
    const progress = notice.querySelector("progress")!;
    timer = setInterval(() => {
      seconds--;
      notice.querySelector(".wait")!.textContent = texts().busyNote!.replace("{n}", `${seconds}`);
      progress.value = progress.max - seconds;
      if (seconds <= 0) load(main().dataset.url!, true);
    }, 1000) as unknown as number;
  }

  async function loadFragment(link: HTMLAnchorElement): Promise<void> {
    const page = await fetchPage(link.href).catch(() => undefined);
    const fragment = page?.querySelector(".fragment");
    if (fragment) link.parentElement?.replaceWith(fragment);
  }
}
