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
  const fillIn = (text = "", value: string) => text.replace(/\{\w+\}/, value);
  const FILE_BUTTON = "[formaction='/download']";
  /** Settings of the form that the results are for. */
  let shown = "";
  let current = new AbortController();
  let timer = 0;
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
    for (const element of document.querySelectorAll<HTMLElement>("[data-script]")) {
      element.hidden = false;
    }
    const source = new DOMParser().parseFromString(form()?.outerHTML ?? "", "text/html");
    shown = settingsOf(source.forms[0]);
    observer.disconnect();
    const card = document.querySelector(".take");
    if (card) observer.observe(card);
    const bars = document.querySelector<HTMLAnchorElement>("a[data-fragment]");
    if (bars) loadFragment(bars);
    startRetry();
    update();
  }

  /** The key or token, which is stored only in its input. */
  function credentialHeader(): Record<string, string> {
    const value = document.querySelector<HTMLInputElement>("#credential")?.value.trim();
    if (!value) return {};
    // Not `form.dataset`, which is the input with the name "dataset".
    return form()?.getAttribute("data-access") === "caller"
      ? { "x-api-key": value }
      : { authorization: `Bearer ${value}` };
  }

  function parametersOf(element: HTMLFormElement): URLSearchParams {
    const parameters = new URLSearchParams();
    for (const [name, value] of new FormData(element)) {
      if (name !== "token" && String(value).trim() !== "") {
        parameters.append(name, String(value).trim());
      }
    }
    return parameters;
  }

  /** Equal for forms that select the same data. */
  function settingsOf(element: HTMLFormElement | undefined | null, typed = ""): string {
    if (!element) return "";
    const display = ["lang", "tool", "columns", "tidy", "days"];
    return [...parametersOf(element)].filter(([name, value]) =>
      !display.includes(name) && (name !== "characteristic" || value !== typed)
    )
      .map((pair) => pair.join("=")).sort().join("&");
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
    for (const note of document.querySelectorAll<HTMLElement>("#stale, #stale-reason")) {
      note.hidden = !isStale;
    }
  }

  function onChange({ target, type }: Event): void {
    const input = target as HTMLInputElement;
    // A chip that is unchecked is gone.
    if (input.type === "checkbox" && !input.checked) input.closest(".chip")?.remove();
    const own = form();
    if (
      own && type === "change" && ["columns", "tidy"].includes(input.name) &&
      !document.body.classList.contains("stale")
    ) {
      load(withChoices(main().dataset.url!), false, true);
    }
    update();
  }

  /** Adds the chosen file of the form to the URL of a page. */
  function withChoices(url: string): string {
    const { pathname, searchParams } = new URL(url, location.href);
    const own = form();
    const chosen = own ? parametersOf(own) : new URLSearchParams();
    for (const name of ["columns", "tidy", "tool"]) {
      // The last one, because a checked box follows the hidden value of an unchecked one.
      const value = chosen.getAll(name).at(-1);
      if (value !== undefined) searchParams.set(name, value);
    }
    return `${pathname}?${searchParams}`;
  }

  function onSubmit(event: SubmitEvent): void {
    const own = form();
    // The browser itself downloads files.
    if (!own || event.target !== own || event.submitter?.matches(FILE_BUTTON)) return;
    event.preventDefault();
    load(`/?${parametersOf(own)}`, true, true);
  }

  function onClick(event: MouseEvent): void {
    const target = event.target as Element;
    if (target.matches(".copy")) return void copy(target, visibleCode());
    const link = target.closest("a");
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link.matches(".copy-link")) {
      event.preventDefault();
      copy(link, link.href);
    } else if (link.matches("[href='#query']")) {
      event.preventDefault();
      form()!.classList.add("open");
      document.querySelector<HTMLElement>("#what")!.focus();
    } else if (link.origin === location.origin && link.hash === "") {
      event.preventDefault();
      const url = link.matches(".language") ? withChoices(link.href) : link.href;
      load(url, link.pathname !== location.pathname, true);
    }
  }

  function visibleCode(): string {
    return document.querySelector(".tabs input:checked + label + pre")?.textContent ?? "";
  }

  async function copy(element: Element, value: string): Promise<void> {
    const before = element.textContent;
    await navigator.clipboard?.writeText(value).then(() => {
      element.textContent = texts().copied!;
      setTimeout(() => element.textContent = before, 2000);
    }, () => {});
  }

  async function fetchPage(url: string, signal?: AbortSignal): Promise<Document> {
    const response = await fetch(url, { headers: credentialHeader(), signal: signal ?? null });
    if (!response.headers.get("content-type")?.startsWith("text/html")) {
      throw new Error(String(response.status));
    }
    return new DOMParser().parseFromString(await response.text(), "text/html");
  }

  async function load(url: string, movesFocus: boolean, isNew = false): Promise<void> {
    current.abort();
    current = new AbortController();
    clearInterval(timer);
    const { signal } = current;
    const submitted = settingsOf(form());
    const focused = document.activeElement;
    const key = focused instanceof HTMLElement ? focused.className + focused.textContent : "";
    setLoading(true);
    try {
      const page = await fetchPage(url, signal);
      // What the user typed in the meantime stays; the new results are for the old form.
      const typed = settingsOf(form()) === submitted ? undefined : form();
      const credential = document.querySelector<HTMLInputElement>("#credential")?.value ?? "";
      for (const selector of ["main", "header", "footer"]) {
        document.querySelector(selector)!.replaceWith(page.querySelector(selector)!);
      }
      document.title = page.title;
      document.documentElement.lang = page.documentElement.lang;
      const input = document.querySelector<HTMLInputElement>("#credential");
      if (input) input.value = credential;
      const state = main().dataset.url ?? url;
      if (isNew) history.pushState(null, "", state);
      else history.replaceState(null, "", state);
      prepare();
      if (typed) {
        form()!.replaceWith(typed);
        return update();
      }
      const target = movesFocus
        ? document.querySelector<HTMLElement>("[role=alert]") ??
          document.querySelector<HTMLElement>("#count, #results:not(:has(#count))")
        : [...main().querySelectorAll<HTMLElement>("a, button, input")].find((element) =>
          element.className + element.textContent === key
        );
      target?.focus({ preventScroll: true });
      if (movesFocus) document.querySelector("#results")!.scrollIntoView();
    } catch (error) {
      if (!signal.aborted) showError(error as Error);
    } finally {
      if (!signal.aborted) setLoading(false);
    }
  }

  function setLoading(isLoading: boolean): void {
    document.querySelector("#results")?.setAttribute("aria-busy", String(isLoading));
    document.querySelector(".show")?.setAttribute("aria-busy", String(isLoading));
    const status = document.querySelector("#form-status");
    if (status) status.textContent = isLoading ? texts().loading! : "";
  }

  function showError({ message }: Error): void {
    const alert = document.createElement("div");
    alert.className = "alert";
    alert.setAttribute("role", "alert");
    alert.textContent = `${texts().failed} ${message}`;
    document.querySelector("#results")!.replaceChildren(alert);
  }

  /** Counts down, then requests the page again. */
  function startRetry(): void {
    clearInterval(timer);
    const notice = document.querySelector<HTMLElement>("[data-retry]");
    if (!notice) return;
    let seconds = Number(notice.dataset.retry);
    timer = setInterval(() => {
      seconds--;
      notice.querySelector(".wait")!.textContent = fillIn(texts().busyNote, String(seconds));
      const progress = notice.querySelector("progress")!;
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
