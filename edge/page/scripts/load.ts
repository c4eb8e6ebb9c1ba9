import type { Page } from "./page.ts";

/** Requests pages. Runs in the browser. */
export function requestPages(): Pick<Page, "fetchPage"> {
  return { fetchPage };

  async function fetchPage(url: string, signal?: AbortSignal): Promise<Document> {
    // The key or token is stored only in its input, and sent in a body, because addresses are logged.
    const token = document.querySelector<HTMLInputElement>("#credential")?.value.trim();
    const init = token ? { method: "POST", body: new URLSearchParams({ token }) } : {};
    const response = await fetch(url, { ...init, signal: signal ?? null });
    if (!response.headers.get("content-type")?.startsWith("text/html")) {
      throw new Error(String(response.status));
    }
    return new DOMParser().parseFromString(await response.text(), "text/html");
  }
}

/** Loads other states of the page within this one. Runs in the browser. */
export function loadPages(page: Page): Pick<Page, "load"> {
  let current = new AbortController();
  document.documentElement.classList.add("scripted");
  // The page of a failed download has the address of the form.
  if (location.pathname === "/download") history.replaceState(null, "", page.url());
  // A link to a part of the page is a state, too, but its content is there.
  addEventListener("popstate", () => {
    if (location.hash === "") load(location.href, false);
  });
  return { load };

  async function load(url: string, movesFocus: boolean, isNew = false): Promise<void> {
    current.abort();
    const { signal } = current = new AbortController();
    const submitted = page.settingsOf(page.form());
    const focused = document.activeElement as HTMLElement;
    setLoading(true);
    try {
      const next = await page.fetchPage(url, signal);
      page.shownSettings = page.settingsOf(next.querySelector<HTMLFormElement>("#query"));
      // What the user typed in the meantime stays; the new results are for the old form.
      const isChanged = page.settingsOf(page.form()) !== submitted;
      replaceAllBut(isChanged ? "#query" : "#credential", next);
      history[isNew ? "pushState" : "replaceState"](null, "", page.url());
      document.dispatchEvent(new Event("shown"));
      if (isChanged) focused.focus();
      else page.moveFocus(movesFocus, focused);
    } catch (error) {
      if (!signal.aborted) showError(error as Error);
    } finally {
      if (!signal.aborted) setLoading(false);
    }
  }

  function replaceAllBut(kept: string, { body, title, documentElement }: Document): void {
    const own = document.querySelector(kept);
    if (own) body.querySelector(kept)?.replaceWith(own);
    document.body.replaceWith(body);
    document.title = title;
    document.documentElement.lang = documentElement.lang;
  }

  function setLoading(isLoading: boolean): void {
    for (const element of document.querySelectorAll("#results, .show")) {
      element.ariaBusy = String(isLoading);
    }
    const status = document.querySelector("#form-status");
    if (status) status.textContent = isLoading ? page.texts().loading! : "";
  }

  function showError({ message }: Error): void {
    const alert = document.createElement("div");
    alert.className = "alert";
    alert.role = "alert";
    alert.textContent = `${page.texts().failed} ${message}`;
    document.querySelector("#results")!.replaceChildren(alert);
  }
}

/** Moves the focus after a change of the page. Runs in the browser. */
export function keepFocus(): Pick<Page, "moveFocus"> {
  return { moveFocus };

  function moveFocus(toResults: boolean, previous: Element): void {
    const same = [...document.querySelectorAll<HTMLElement>("a, button, input")]
      .find((element) => describe(element) === describe(previous));
    const results = document.querySelector<HTMLElement>("#results")!;
    // Without a focused element, a map that was moved stays in view.
    const stays = !toResults && (same ?? (previous.localName === "body" && results));
    const [alert, count] = ["main [role=alert]", "#count"].map((one) =>
      document.querySelector<HTMLElement>(one)
    );
    (stays || alert || count || results).focus({ preventScroll: true });
    if (!stays) results.scrollIntoView();
  }

  /** Equal for elements that have the same function in two states of the page. */
  function describe(element: Element): string {
    const attributes = ["class", "name", "value"].map((name) => element.getAttribute(name));
    return [...attributes, element.matches(".language") || element.textContent].join();
  }
}

/** Loads what a shown page does not have yet: a part of its results, or the results of a busy service. Runs in the browser. */
export function completePage(page: Page): void {
  document.addEventListener("shown", () => {
    const link = document.querySelector<HTMLAnchorElement>("a[data-fragment]");
    if (link) loadFragment(link);
    const notice = document.querySelector<HTMLElement>("[data-retry]");
    if (notice) countDown(notice);
  });

  async function loadFragment(link: HTMLAnchorElement): Promise<void> {
    const next = await page.fetchPage(link.href).catch(() => undefined);
    const fragment = next?.querySelector(".fragment");
    if (fragment) link.parentElement?.replaceWith(fragment);
  }

  /** Requests the page again after the seconds of a notice. */
  function countDown(notice: HTMLElement): void {
    const progress = notice.querySelector("progress")!;
    let seconds = Number(notice.dataset.retry);
    const timer = setInterval(() => {
      if (!notice.isConnected) clearInterval(timer);
      // The user loads another page.
      if (!notice.isConnected || notice.closest("[aria-busy=true]")) return;
      seconds--;
      const text = page.texts().busyNote!.replace("{n}", `${seconds}`);
      notice.querySelector(".wait")!.textContent = text;
      progress.value = progress.max - seconds;
      if (seconds <= 0) page.load(page.url(), true);
    }, 1000);
  }
}
