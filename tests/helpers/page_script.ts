import { assertEquals } from "@std/assert";
import type { EdgeApp } from "../../edge/app.ts";
import { Document, type Element, formEntries } from "./dom.ts";

type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** Options of `openPage()`. */
export interface PageOptions {
  /** Query of the page's URL, such as `?endpoint=Records`. Default: none. */
  query?: string;
  /** Headers of the request for the page. */
  headers?: Record<string, string>;
  /** Changes the document before the script runs, like a browser that restores form values. */
  restore?: (document: Document) => void;
  /** The script's `fetch`. Default: sends requests to the app. */
  fetch?: Fetch;
  /** `navigator.clipboard`. Default: adds texts to `copied`. */
  clipboard?: { writeText(text: string): Promise<void> } | undefined;
  /** Whether the browser has the Navigation API. Default: true. */
  hasNavigation?: boolean;
  /** Result (ms) of `Date.now()` in the script. Default: 0. */
  now?: { value: number };
  /** `showSaveFilePicker`, which only some browsers have. */
  showSaveFilePicker?: (options: { suggestedName: string }) => Promise<unknown>;
}

/** A page after its script ran. */
export interface OpenPage {
  document: Document;
  /** Copied texts. */
  copied: string[];
  /** Returns the texts of saved blobs by file name. */
  saved(): Promise<Record<string, string>>;
  /** Revoked blob URLs. */
  released: string[];
  /** Runs the timers of the script and returns their delays (ms). */
  runTimers(): number[];
  /** Sends an event to the window. */
  dispatch(type: string, properties?: object): void;
  /** Sends an event to `navigation`. */
  dispatchNavigation(type: string): void;
  /** Returns an element; throws if there is none. */
  find(selector: string): Element;
}

/** Requests the app's page and runs its script with a small DOM. */
export async function openPage(app: EdgeApp, options: PageOptions = {}): Promise<OpenPage> {
  const { query = "", headers = {}, restore, hasNavigation = true, showSaveFilePicker } = options;
  const { now = { value: 0 } } = options;
  const baseUrl = `http://localhost/${query}`;
  const html = await (await app.request(baseUrl, { headers })).text();
  const document = new Document(html, baseUrl);
  const scripts = document.querySelectorAll("script");
  assertEquals(scripts.map((script) => script.getAttribute("type")), ["module"]);
  const scriptUrl = new URL(scripts[0]!.getAttribute("src")!, baseUrl);
  const script = await app.request(scriptUrl);
  assertEquals(
    [script.status, script.headers.get("content-type")],
    [200, "text/javascript; charset=utf-8"],
  );
  restore?.(document);

  const listeners = {
    window: new Map<string, Listener[]>(),
    navigation: new Map<string, Listener[]>(),
  };
  const copied: string[] = [];
  const blobs = new Map<string, Blob>();
  const released: string[] = [];
  let timers: [run: () => void, delay: number][] = [];
  const clipboard = "clipboard" in options
    ? options.clipboard
    : { writeText: (text: string) => Promise.resolve(void copied.push(text)) };
  class PageUrl extends URL {
    static override createObjectURL(blob: Blob): string {
      const url = `blob:${blobs.size + 1}`;
      blobs.set(url, blob);
      return url;
    }
    static override revokeObjectURL(url: string): void {
      released.push(url);
    }
  }
  const window: Record<string, unknown> = {
    document,
    navigator: { clipboard },
    navigation: hasNavigation ? { addEventListener: adder(listeners.navigation) } : undefined,
    showSaveFilePicker,
    addEventListener: adder(listeners.window),
    fetch: options.fetch ?? ((url: string, init?: RequestInit) => app.request(url, init)),
    setTimeout: (run: () => void, delay: number) => void timers.push([run, delay]),
    DOMParser: class {
      parseFromString(text: string, type: string): Document {
        assertEquals(type, "text/html");
        return new Document(text, baseUrl);
      }
    },
    FormData: class {
      readonly #entries: [string, string][];
      constructor(form: Element) {
        this.#entries = formEntries(form);
      }
      [Symbol.iterator]() {
        return this.#entries[Symbol.iterator]();
      }
    },
    Date: { now: () => now.value },
    URL: PageUrl,
  };
  Object.assign(window, { window, self: window, globalThis: window });
  // A module is in strict mode.
  const code = `"use strict";\n${await script.text()}`;
  new Function(...Object.keys(window), code)(...Object.values(window));

  const send = (to: Map<string, Listener[]>, type: string, properties: object = {}) => {
    for (const listener of to.get(type) ?? []) listener({ type, ...properties });
  };
  return {
    document,
    copied,
    async saved() {
      const files: Record<string, string> = {};
      for (const link of document.saved) {
        const name = link.getAttribute("download") ?? "";
        files[name] = await blobs.get(link.getAttribute("href") ?? "")!.text();
      }
      return files;
    },
    released,
    runTimers() {
      const due = timers;
      timers = [];
      for (const [run] of due) run();
      return due.map(([, delay]) => delay);
    },
    dispatch: (type, properties) => send(listeners.window, type, properties),
    dispatchNavigation: (type) => send(listeners.navigation, type),
    find(selector) {
      const element = document.querySelector(selector);
      if (element === null) throw new Error(`The page has no "${selector}"`);
      return element;
    },
  };
}

type Listener = (event: object) => void;

function adder(listeners: Map<string, Listener[]>) {
  return (type: string, listener: Listener) => {
    listeners.set(type, [...listeners.get(type) ?? [], listener]);
  };
}
