/** Suggests characteristics by any part of their name; the server renders the list. Runs in the browser. */
export function enhanceSuggestions(): void {
  let active = 0;
  /** Text that the list is for. */
  let suggested = "";
  let request = new AbortController();

  const input = () => document.querySelector<HTMLInputElement>("#what");
  const list = () => document.querySelector<HTMLElement>("#suggestions");
  const options = () => [...list()?.querySelectorAll<HTMLElement>("[role=option]") ?? []];
  const wanted = () => input()?.value.trim() ?? "";

  document.addEventListener("focusin", ({ target }) => {
    if (target !== input()) return;
    const element = input()!;
    element.removeAttribute("list");
    element.setAttribute("role", "combobox");
    element.setAttribute("aria-autocomplete", "list");
    element.setAttribute("aria-controls", "suggestions");
    element.setAttribute("aria-expanded", String(!list()!.hidden));
    show();
  });
  document.addEventListener("input", ({ target }) => {
    if (target === input()) show();
  });
  document.addEventListener("focusout", ({ target }) => {
    if (target === input()) setTimeout(close, 150);
  });
  document.addEventListener("keydown", (event) => {
    // The list can be for less than was typed: the server finds the text itself then.
    if (event.target !== input() || list()!.hidden || suggested !== wanted()) return;
    const all = options();
    if (event.key === "ArrowDown") mark((active + 1) % all.length);
    else if (event.key === "ArrowUp") mark((active + all.length - 1) % all.length);
    else if (event.key === "Enter") take(all[active]!);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    const option = (event.target as Element).closest<HTMLElement>("#suggestions [role=option]");
    if (!option) return;
    event.preventDefault();
    take(option);
  });

  async function show(): Promise<void> {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const text = wanted();
    if (text === "") return close();
    const parameters = new URLSearchParams({ text, lang: document.documentElement.lang });
    const content = await fetch(`/suggestions?${parameters}`, { signal })
      .then((response) => response.ok ? response.text() : "").catch(() => "");
    if (signal.aborted || document.activeElement !== input()) return;
    list()!.innerHTML = content;
    suggested = text;
    if (options().length === 0) return close();
    options().forEach((option, index) => option.id = `suggestion-${index}`);
    list()!.hidden = false;
    input()!.setAttribute("aria-expanded", "true");
    mark(0);
  }

  function mark(index: number): void {
    active = index;
    options().forEach((option, other) => {
      option.setAttribute("aria-selected", String(other === index));
      if (other === index) option.scrollIntoView({ block: "nearest" });
    });
    input()?.setAttribute("aria-activedescendant", `suggestion-${index}`);
  }

  function close(): void {
    request.abort();
    const box = list();
    if (!box) return;
    box.hidden = true;
    input()?.setAttribute("aria-expanded", "false");
    input()?.removeAttribute("aria-activedescendant");
  }

  function take(option: HTMLElement): void {
    const element = input()!;
    element.before(option.querySelector("template")!.content.cloneNode(true));
    element.value = "";
    close();
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.focus();
  }
}
