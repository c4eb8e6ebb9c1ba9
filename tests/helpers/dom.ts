// A small DOM with the features that the page's script uses. The parser accepts only HTML without
// omitted tags and throws for anything else.

const VOID = new Set(["br", "hr", "img", "input", "link", "meta"]);
const ENTITIES: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

/** A text node. */
export class Text {
  parent: Element | undefined;
  /** @param textContent The text, without entities */
  constructor(readonly textContent: string) {}
}

/** An event in a `Document`. */
export interface FakeEvent {
  type: string;
  target: Element;
  currentTarget: Element;
  defaultPrevented: boolean;
  preventDefault(): void;
}

type Listener = (event: FakeEvent) => unknown;

/** An element of any kind, including the properties of form controls. */
export class Element {
  parent: Element | undefined;
  childNodes: (Element | Text)[] = [];
  readonly attributes = new Map<string, string>();
  readonly #listeners: [type: string, listener: Listener][] = [];
  #value: string | undefined;
  #checked: boolean | undefined;

  /**
   * @param tag Name in lower case
   * @param owner Document that created it
   */
  constructor(readonly tag: string, readonly owner: Document) {}

  /** The document that contains it, or the one that created it. */
  get document(): Document {
    return this.parent?.document ?? this.owner;
  }

  getAttribute(name: string): string | null {
    return this.attributes.get(name) ?? null;
  }
  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }
  toggleAttribute(name: string, isOn: boolean): void {
    if (isOn) this.attributes.set(name, "");
    else this.attributes.delete(name);
  }

  get id(): string {
    return this.attributes.get("id") ?? "";
  }
  set id(value: string) {
    this.attributes.set("id", value);
  }
  get className(): string {
    return this.attributes.get("class") ?? "";
  }
  set className(value: string) {
    this.attributes.set("class", value);
  }
  get type(): string {
    return this.attributes.get("type") ?? "";
  }
  set type(value: string) {
    this.attributes.set("type", value);
  }
  get hidden(): boolean {
    return this.attributes.has("hidden");
  }
  set hidden(isOn: boolean) {
    this.toggleAttribute("hidden", isOn);
  }
  get disabled(): boolean {
    return this.attributes.has("disabled");
  }
  set disabled(isOn: boolean) {
    this.toggleAttribute("disabled", isOn);
  }
  set tabIndex(value: number) {
    this.attributes.set("tabindex", String(value));
  }
  get dataset(): Record<string, string> {
    return Object.fromEntries(
      [...this.attributes].filter(([name]) => name.startsWith("data-"))
        .map(([name, value]) => [name.slice("data-".length), value]),
    );
  }
  /** The absolute URL of a link; empty without the attribute, as in a browser. */
  get href(): string {
    const value = this.attributes.get("href");
    return value === undefined ? "" : new URL(value, this.document.baseUrl).href;
  }
  set href(value: string) {
    this.attributes.set("href", value);
  }
  set download(value: string) {
    this.attributes.set("download", value);
  }

  get value(): string {
    if (this.#value !== undefined) return this.#value;
    if (this.tag !== "select") return this.attributes.get("value") ?? "";
    const options = this.querySelectorAll("option");
    const option = options.find(({ attributes }) => attributes.has("selected")) ?? options[0];
    return option?.value ?? "";
  }
  set value(value: string) {
    this.#value = value;
  }
  get checked(): boolean {
    return this.#checked ?? this.attributes.has("checked");
  }
  set checked(isOn: boolean) {
    if (isOn && this.type === "radio") {
      const others = this.closest("form")?.querySelectorAll("[type=radio]") ?? [];
      const name = this.getAttribute("name");
      for (const other of others) {
        if (other.getAttribute("name") === name) other.#checked = false;
      }
    }
    this.#checked = isOn;
  }
  /** Radio buttons by name. */
  get elements(): Record<string, { value: string }> {
    const buttons = this.querySelectorAll("[type=radio]");
    return Object.fromEntries(
      buttons.map((button) => [button.getAttribute("name"), {
        value: buttons.find(({ checked }) => checked)?.value ?? "",
      }]),
    );
  }

  get textContent(): string {
    return this.childNodes.map(({ textContent }) => textContent).join("");
  }
  set textContent(text: string) {
    this.replaceChildren(new Text(text));
  }
  get firstChild(): Element | Text | undefined {
    return this.childNodes[0];
  }
  get children(): Element[] {
    return this.childNodes.filter((node) => node instanceof Element);
  }
  get outerHTML(): string {
    const inner = this.childNodes.map((node) =>
      node instanceof Element ? node.outerHTML : escape(node.textContent)
    );
    return VOID.has(this.tag) ? startTag(this) : `${startTag(this)}${inner.join("")}</${this.tag}>`;
  }

  replaceChildren(...nodes: (Element | Text)[]): void {
    for (const node of this.childNodes) node.parent = undefined;
    this.childNodes = [];
    for (const node of nodes) {
      node.parent?.childNodes.splice(node.parent.childNodes.indexOf(node), 1);
      node.parent = this;
      this.childNodes.push(node);
    }
  }
  after(node: Element): void {
    this.#insert(1, 0, node);
  }
  replaceWith(node: Element): void {
    this.#insert(0, 1, node);
  }
  #insert(offset: number, removed: number, node: Element): void {
    const { parent } = this;
    if (!parent) throw new Error(`<${this.tag}> is not in a document`);
    node.parent?.childNodes.splice(node.parent.childNodes.indexOf(node), 1);
    parent.childNodes.splice(parent.childNodes.indexOf(this) + offset, removed, node);
    node.parent = parent;
    if (removed > 0) this.parent = undefined;
  }

  /** All descendant elements in document order. */
  get descendants(): Element[] {
    return this.children.flatMap((child) => [child, ...child.descendants]);
  }
  querySelectorAll(selector: string): Element[] {
    return this.descendants.filter((element) => matches(element, selector, this));
  }
  querySelector(selector: string): Element | null {
    return this.querySelectorAll(selector)[0] ?? null;
  }
  closest(selector: string): Element | null {
    return matches(this, selector) ? this : this.parent?.closest(selector) ?? null;
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.push([type, listener]);
  }
  /** Dispatches a bubbling event; resolves when all listeners have finished. */
  async dispatch(type: string): Promise<FakeEvent> {
    const event: FakeEvent = {
      type,
      target: this,
      currentTarget: this,
      defaultPrevented: false,
      preventDefault: () => event.defaultPrevented = true,
    };
    const work: unknown[] = [];
    this.#notify(event, work);
    await Promise.all(work);
    return event;
  }
  #notify(event: FakeEvent, work: unknown[]): void {
    event.currentTarget = this;
    for (const [type, listener] of this.#listeners) {
      if (type === event.type) work.push(listener(event));
    }
    if (this.parent) this.parent.#notify(event, work);
  }
  click(): Promise<FakeEvent> {
    if (this.tag === "a" && this.parent === undefined) this.document.saved.push(this);
    return this.dispatch("click");
  }
  focus(): void {
    this.document.activeElement = this;
  }
  scrollIntoView(): void {
    this.document.inView = this;
  }
}

/** A document. */
export class Document {
  readonly root: Element = new Element("#document", this);
  activeElement: Element | undefined;
  inView: Element | undefined;
  /** Detached links that a script clicked to save a file. */
  readonly saved: Element[] = [];

  /**
   * @param html The source
   * @param baseUrl The document's URL
   */
  constructor(html: string, readonly baseUrl: string) {
    const open = [this.root];
    const tokens =
      /<!doctype html>|<\/([\w-]+)>|<([\w-]+)((?:\s+[\w-]+(?:="[^"]*")?)*)\s*>|[^<]+|</gi;
    for (const [token, end, start, attributes = ""] of html.matchAll(tokens)) {
      const parent = open.at(-1)!;
      if (end !== undefined) {
        if (parent.tag !== end) throw new Error(`<${parent.tag}> is closed by ${token}`);
        open.pop();
      } else if (start !== undefined) {
        const element = append(parent, new Element(start, this));
        for (const [, name, value = ""] of attributes.matchAll(/([\w-]+)(?:="([^"]*)")?/g)) {
          if (element.attributes.has(name!)) throw new Error(`${token} has ${name} twice`);
          element.setAttribute(name!, unescape(value));
        }
        if (!VOID.has(start)) open.push(element);
      } else if (token === "<") {
        throw new Error(`Invalid HTML in: ${html.slice(0, 200)}`);
      } else if (!token.startsWith("<!")) {
        append(parent, new Text(unescape(token)));
      }
    }
    if (open.length > 1) throw new Error(`<${open.at(-1)!.tag}> is not closed`);
  }

  get forms(): Element[] {
    return this.root.querySelectorAll("form");
  }
  querySelector(selector: string): Element | null {
    return this.root.querySelector(selector);
  }
  querySelectorAll(selector: string): Element[] {
    return this.root.querySelectorAll(selector);
  }
  getElementById(id: string): Element | null {
    return this.root.descendants.find((element) => element.id === id) ?? null;
  }
  createElement(tag: string): Element {
    return new Element(tag, this);
  }
}

/** Names and values that a browser sends for a form, in document order. */
export function formEntries(form: Element): [name: string, value: string][] {
  return form.descendants.flatMap((element): [string, string][] => {
    const name = element.getAttribute("name");
    const isControl = ["input", "select", "textarea"].includes(element.tag);
    if (name === null || !isControl || element.closest("[disabled]")) return [];
    const isChoice = element.type === "checkbox" || element.type === "radio";
    return isChoice && !element.checked ? [] : [[name, element.value]];
  });
}

/**
 * Formats HTML with one element per line. Up to three inline elements stay on the line of their
 * parent. Collapses white space like a browser.
 */
export function toLines(element: Element, indent = ""): string[] {
  const inline = ["a", "b", "code", "em", "input", "small", "span", "strong", "time"];
  const isShort = element.children.length <= 3;
  if (isShort && element.descendants.every(({ tag }) => inline.includes(tag))) {
    return [indent + oneLine(element)];
  }
  const inner = element.childNodes.flatMap((node) => {
    if (node instanceof Element) return toLines(node, `${indent}  `);
    const text = collapse(node.textContent).trim();
    return text === "" ? [] : [`${indent}  ${escape(text)}`];
  });
  return [indent + startTag(element), ...inner, `${indent}</${element.tag}>`];
}

function oneLine(element: Element): string {
  if (VOID.has(element.tag)) return startTag(element);
  const inner = element.childNodes.map((node) =>
    node instanceof Element ? oneLine(node) : escape(collapse(node.textContent))
  );
  return `${startTag(element)}${inner.join("").trim()}</${element.tag}>`;
}

function startTag({ tag, attributes }: Element): string {
  const pairs = [...attributes].map(([name, value]) =>
    value === "" ? ` ${name}` : ` ${name}="${escape(value).replaceAll('"', "&quot;")}"`
  );
  return `<${tag}${pairs.join("")}>`;
}

function append<T extends Element | Text>(parent: Element, node: T): T {
  node.parent = parent;
  parent.childNodes.push(node);
  return node;
}

function collapse(text: string): string {
  return text.replace(/[ \t\r\n]+/g, " ");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescape(text: string): string {
  return text.replace(/&[^;\s]*;?/g, (entity) => {
    const character = ENTITIES[entity];
    if (character === undefined) throw new Error(`Unexpected entity ${entity}`);
    return character;
  });
}

const SIMPLE =
  /:scope|:not\(([^)]*)\)|\[([\w-]+)(?:=([\w-]+))?\]|#([\w-]+)|\.([\w-]+)|(\*|[\w-]+)|(.)/g;

function matches(element: Element, selector: string, scope?: Element): boolean {
  return selector.split(/,\s*(?![^(]*\))/).some((complex) => {
    const parts = complex.trim().split(/\s*(>)\s*|\s+(?![^(]*\))/).filter((part) => part);
    return matchesParts(element, parts, scope);
  });
}

/** Matches compound selectors, which may be separated by `>`, from the last to the first. */
function matchesParts(element: Element, parts: string[], scope?: Element): boolean {
  const compound = parts.at(-1)!;
  const rest = parts.slice(0, -1);
  if (!matchesCompound(element, compound, scope)) return false;
  if (rest.length === 0) return true;
  const { parent } = element;
  if (rest.at(-1) === ">") return !!parent && matchesParts(parent, rest.slice(0, -1), scope);
  for (let other = parent; other; other = other.parent) {
    if (matchesParts(other, rest, scope)) return true;
  }
  return false;
}

function matchesCompound(element: Element, compound: string, scope?: Element): boolean {
  return [...compound.matchAll(SIMPLE)].every(
    ([token, not, attribute, value, id, name, tag, other]) => {
      if (other !== undefined) throw new Error(`Unsupported selector "${compound}"`);
      if (token === ":scope") return element === scope;
      if (not !== undefined) return !matches(element, not, scope);
      if (attribute !== undefined) {
        const given = element.getAttribute(attribute);
        return value === undefined ? given !== null : given === value;
      }
      if (id !== undefined) return element.id === id;
      if (name !== undefined) return element.className.split(" ").includes(name);
      return tag === "*" || element.tag === tag;
    },
  );
}
