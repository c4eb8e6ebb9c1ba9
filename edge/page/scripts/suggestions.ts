/** Suggests characteristics by any part of their name, in groups. Runs in the browser. */
export function enhanceSuggestions(): void {
  interface Names {
    groups: { en: string; fr: string; common: string[]; others: string[] }[];
    others: string[];
    french: Record<string, string>;
    synonyms: Record<string, string[]>;
  }
  interface Match {
    name: string;
    note: string;
    group: string;
  }
  const MAX_SHOWN = 12;
  const MAX_PER_GROUP = 5;
  let names: Names | undefined;
  let request: Promise<void> | undefined;
  let active = 0;

  const input = () => document.querySelector<HTMLInputElement>("#what");
  const list = () => document.querySelector<HTMLElement>("#suggestions");
  const options = () => [...list()?.querySelectorAll<HTMLElement>("[role=option]") ?? []];
  const fold = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();

  document.addEventListener("focusin", ({ target }) => {
    if (target !== input()) return;
    const element = input()!;
    element.removeAttribute("list");
    element.setAttribute("role", "combobox");
    element.setAttribute("aria-autocomplete", "list");
    element.setAttribute("aria-controls", "suggestions");
    element.setAttribute("aria-expanded", String(!list()!.hidden));
    request ??= fetch("/names.json").then((response) => response.json()).then((json) => {
      names = json;
      show();
    }, () => request = undefined);
  });
  document.addEventListener("input", ({ target }) => {
    if (target === input()) show();
  });
  document.addEventListener("focusout", ({ target }) => {
    if (target === input()) setTimeout(close, 150);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target !== input() || list()!.hidden) return;
    const all = options();
    if (event.key === "ArrowDown") mark((active + 1) % all.length);
    else if (event.key === "ArrowUp") mark((active + all.length - 1) % all.length);
    else if (event.key === "Enter" && all[active]) take(all[active]!.dataset.name!);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    const option = (event.target as Element).closest<HTMLElement>("#suggestions [role=option]");
    if (!option) return;
    event.preventDefault();
    take(option.dataset.name!);
  });

  /** Finds names, those of the reviewed groups first. */
  function find(wanted: string): { matches: Match[]; total: number } {
    const { groups, others, french, synonyms } = names!;
    const language = document.documentElement.lang === "fr" ? "fr" : "en";
    const has = (name: string) =>
      fold(name).includes(wanted) || fold(french[name] ?? "").includes(wanted);
    const all = [...groups.flatMap(({ common, others }) => [...common, ...others]), ...others];
    const meant = [
      ...all.filter((name) => fold(name) === wanted || fold(french[name] ?? "") === wanted),
      ...Object.entries(synonyms).filter(([key]) => fold(key) === wanted)
        .flatMap(([, list]) => list),
    ].filter((name, index, list) => list.indexOf(name) === index);
    const groupOf = (name: string) =>
      groups.find(({ common, others }) => common.includes(name) || others.includes(name))
        ?.[language] ?? "";
    const noteOf = (name: string) =>
      french[name] === undefined || french[name] === name ? "" : french[name]!.toLowerCase();
    const matches: Match[] = meant.map((name) => ({
      name,
      note: noteOf(name),
      group: groupOf(name),
    }));
    let total = matches.length;
    for (const group of [...groups, { en: "", fr: "", common: [], others }]) {
      const label = group[language];
      if (label && fold(label).includes(wanted)) {
        matches.push({ name: label, note: "", group: label });
        total++;
      }
      const found = [...group.common, ...group.others].filter((name) =>
        has(name) && !meant.includes(name)
      );
      total += found.length;
      const room = Math.min(MAX_PER_GROUP, MAX_SHOWN - matches.length);
      matches.push(
        ...found.slice(0, Math.max(0, room)).map((name) => ({
          name,
          note: noteOf(name),
          group: label,
        })),
      );
    }
    return { matches, total };
  }

  function show(): void {
    const wanted = fold(input()?.value ?? "");
    if (!names || wanted === "" || document.activeElement !== input()) return close();
    const { matches, total } = find(wanted);
    if (matches.length === 0) return close();
    const texts = JSON.parse(document.querySelector("main")!.dataset.texts ?? "{}");
    const box = list()!;
    box.replaceChildren();
    const ordered = [...new Set(matches.map(({ group }) => group))].flatMap((group) =>
      matches.filter((match) => match.group === group)
    );
    const listbox = document.createElement("div");
    listbox.setAttribute("role", "listbox");
    listbox.setAttribute("aria-label", texts.suggestions);
    let parent: HTMLElement = listbox;
    ordered.forEach(({ name, note, group }, index) => {
      if (index === 0 || ordered[index - 1]!.group !== group) {
        parent = document.createElement("div");
        parent.setAttribute("role", "group");
        if (group) {
          parent.setAttribute("aria-label", group);
          const heading = document.createElement("div");
          heading.className = "group";
          heading.setAttribute("role", "presentation");
          heading.textContent = group;
          parent.append(heading);
        }
        listbox.append(parent);
      }
      const option = document.createElement("div");
      option.id = `suggestion-${index}`;
      option.setAttribute("role", "option");
      option.dataset.name = name;
      const text = document.createElement("span");
      text.append(...marked(name, wanted));
      option.append(text);
      if (note) {
        const small = document.createElement("small");
        small.lang = "fr";
        small.textContent = note;
        option.append(small);
      }
      parent.append(option);
    });
    box.append(listbox);
    if (total > ordered.length) {
      const foot = document.createElement("p");
      foot.className = "foot";
      foot.textContent = texts.moreNames.replace("{n}", total - ordered.length)
        .replace("{text}", input()!.value.trim());
      box.append(foot);
    }
    box.hidden = false;
    input()!.setAttribute("aria-expanded", "true");
    mark(0);
  }

  /** Underlines the part that matches. */
  function marked(name: string, wanted: string): (Node | string)[] {
    const at = name.toLowerCase().indexOf(wanted);
    if (at < 0) return [name];
    const bold = document.createElement("b");
    bold.textContent = name.slice(at, at + wanted.length);
    return [name.slice(0, at), bold, name.slice(at + wanted.length)];
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
    const box = list();
    if (!box) return;
    box.hidden = true;
    input()?.setAttribute("aria-expanded", "false");
    input()?.removeAttribute("aria-activedescendant");
  }

  /** Adds a chip, as the server draws it. */
  function take(name: string): void {
    const element = input()!;
    const chip = document.createElement("label");
    chip.className = "chip";
    const box = document.createElement("input");
    Object.assign(box, { type: "checkbox", name: "characteristic", value: name });
    // An attribute, so that a copy of the form keeps it.
    box.setAttribute("checked", "");
    const cross = document.createElement("span");
    cross.setAttribute("aria-hidden", "true");
    cross.textContent = " ×";
    chip.append(box, name, cross);
    element.before(chip);
    element.value = "";
    close();
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.focus();
  }
}
