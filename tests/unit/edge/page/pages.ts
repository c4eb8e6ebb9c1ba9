import { assertEquals } from "@std/assert";
import type { EdgeApp } from "../../../../edge/app.ts";
import { ROOT } from "../../../helpers/upstream.ts";

/** Token of the tests of pages that require one. */
export const TOKEN = "the-token-of-a-test";

/** Returns the text of HTML, with one space instead of each run of white space. */
export const textOf = (html: string): string =>
  html.replace(/<[^>]*>/g, "").replace(/\s+/g, " ").trim();

export const get = async (app: EdgeApp, path: string, init?: RequestInit): Promise<string> =>
  await (await app.request(path, init)).text();

/** Returns the text of the first element with an attribute. */
export const elementOf = (html: string, attribute: string): string =>
  textOf(new RegExp(`<(\\w+)[^>]*${attribute}[^>]*>(.*?)</\\1>`, "s").exec(html)?.[2] ?? "");

export const headingOf = (html: string): string => elementOf(html, 'id="count"');

/** Returns the URL and the name of the file that a form downloads; `HEAD` reads no rows. */
export async function fileOf(app: EdgeApp, query: string): Promise<{ url: URL; name: string }> {
  const { status, headers } = await app.request(`/download?${query}`, { method: "HEAD" });
  assertEquals(status, 200);
  const [, name] = /filename="(.*?)"/.exec(headers.get("content-disposition")!)!;
  return { url: new URL(headers.get("content-location")!, ROOT), name: name! };
}
