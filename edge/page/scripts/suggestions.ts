/** Suggests characteristics by any part of their name; the server renders the list. Runs in the browser. */
export function enhanceSuggestions(): void {
  let active = 0;
  /** Text that the list is for; empty while it is closed. */
  let suggested = "";
  let request = new AbortController();

  const input = () => document.querySelector<HTMLInputElement>("#what");
  const list = () => document.querySelector<HTMLElement>("#suggestions")!;
  const options = () => [...list().querySelectorAll<HTMLElement>("[role=option]")];
  const wanted = () => input()?.value.trim() ?? "";

  for (const type of ["focusin", "input"]) {
    document.addEventListener(type, ({ target }) => {
      if (target === input()) suggest();
    });
  }
  document.addEventListener("focusout", ({ target }) => {
    if (target === input()) close();
  });
  document.addEventListener("keydown", (event) => {
    // The list can be for less than was typed: the server finds the text itself then.
    if (event.target !== input() || suggested === "" || suggested !== wanted()) return;
    if (event.key === "ArrowDown") mark(active + 1);
    else if (event.key === "ArrowUp") mark(active - 1);
    else if (event.key === "Enter") take(options()[active]!);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    const option = (event.target as Element).closest("#suggestions [role=option]");
    if (!option) return;
    event.preventDefault();
    take(option);
  });

  async function suggest(): Promise<void> {
    // The list of the browser has fewer names.
    input()!.removeAttribute("list");
    request.abort();
    const { signal } = request = new AbortController();
    const text = wanted();
    if (text === "") return close();
    const parameters = new URLSearchParams({ text, lang: document.documentElement.lang });
    const content = await fetch(`/suggestions?${parameters}`, { signal })
      .then((response) => response.ok ? response.text() : "").catch(() => "");
    if (signal.aborted) return;
    list().innerHTML = content;
    if (options().length === 0) return close();
    options().forEach((option, index) => option.id = `suggestion-${index}`);
    suggested = text;
    list().hidden = false;
    input()!.ariaExpanded = "true";
    mark(0);
  }

  function mark(index: number): void {
    const all = options();
    active = (index + all.length) % all.length;
    all.forEach((option, i) => option.ariaSelected = String(i === active));
    all[active]!.scrollIntoView({ block: "nearest" });
    input()!.setAttribute("aria-activedescendant", all[active]!.id);
  }

  function close(): void {
    request.abort();
    suggested = "";
    list().hidden = true;
    input()!.ariaExpanded = "false";
    input()!.removeAttribute("aria-activedescendant");
  }

  function take(option: Element): void {
    const element = input()!;
    element.before(option.querySelector("template")!.content.cloneNode(true));
    element.value = "";
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.focus();
  }
}
