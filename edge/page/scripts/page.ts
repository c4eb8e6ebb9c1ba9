/** What the parts of the script share. Each part is a function that returns its members. */
export interface Page {
  form: () => HTMLFormElement | null;
  /** URL of the shown state. */
  url: () => string;
  /** Texts of the page by their name. */
  texts: () => Record<string, string>;
  /** Trimmed values of a form, without the key or token. */
  valuesOf: (form: HTMLFormElement | null | undefined) => URLSearchParams;
  /** Equal for forms that select the same data. `typed` is a name that is not chosen yet. */
  settingsOf: (form: HTMLFormElement | null | undefined, typed?: string) => string;
  /** Settings of the form that the results are for. */
  shownSettings: string;
  /** Adds the chosen file of the form to the URL of a page. */
  withFile: (url: string) => string;
  /** Requests a page with the key or token. */
  fetchPage: (url: string, signal?: AbortSignal) => Promise<Document>;
  /** Focuses the results, or else the element with the function of the one that had the focus. */
  moveFocus: (toResults: boolean, previous: Element) => void;
  /**
   * Shows another state of the page, and dispatches the event `shown`, because all elements are new. `isNew` adds the
   * state to the history.
   */
  load: (url: string, movesFocus: boolean, isNew?: boolean) => Promise<void>;
}

/** Reads the shown page. Runs in the browser. */
export function readPage(): Omit<Page, "fetchPage" | "moveFocus" | "load"> {
  const main = (): HTMLElement => document.querySelector("main")!;
  const form: Page["form"] = () => document.querySelector("#query");
  /** Fields of the chosen file, and those that do not change the results. */
  const FILE = ["tool", "columns", "tidy"];
  const DISPLAY = [...FILE, "lang"];
  // A browser may have restored other values than those of the results.
  const sent = new DOMParser().parseFromString(form()?.outerHTML ?? "", "text/html").forms[0];
  return {
    form,
    url: () => main().dataset.url!,
    texts: () => JSON.parse(main().dataset.texts!),
    valuesOf,
    settingsOf,
    shownSettings: settingsOf(sent),
    withFile,
  };

  function valuesOf(form: HTMLFormElement | null | undefined): URLSearchParams {
    const fields = [...form ? new FormData(form) : []]
      .map(([name, value]) => [name, String(value).trim()]);
    // The key or token must not be in an address.
    return new URLSearchParams(fields.filter(([name, value]) => name !== "token" && value !== ""));
  }

  function settingsOf(form: HTMLFormElement | null | undefined, typed = ""): string {
    const isSetting = ([name, value]: [name: string, value: string]) =>
      !DISPLAY.includes(name) && (name !== "characteristic" || value !== typed);
    return [...valuesOf(form)].filter(isSetting).map((pair) => pair.join("=")).sort().join("&");
  }

  function withFile(url: string): string {
    const { pathname, searchParams } = new URL(url, location.href);
    const chosen = valuesOf(form());
    for (const name of FILE) {
      // The last one, because a checked box follows the hidden value of an unchecked one.
      const value = chosen.getAll(name).at(-1);
      if (value !== undefined) searchParams.set(name, value);
    }
    return `${pathname}?${searchParams}`;
  }
}
