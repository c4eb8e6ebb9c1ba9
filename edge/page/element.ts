// Elements of SVG and HTML, and positions in them.
import { html, raw } from "hono/html";
import type { Html } from "./text.ts";

type Content = Html | string | number | false | undefined;

export function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  ...content: readonly (Content | readonly Content[])[]
): Html {
  const list = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [raw(` ${key}="`), value, raw('"')]
  );
  return html`<${raw(name)}${list}>${content}</${raw(name)}>`;
}

/** Returns a part of a length as a percentage: a browser scales such positions, but not the text there. */
export function percent(part: number, digits = 2): string {
  return `${+(part * 100).toFixed(digits)}%`;
}
