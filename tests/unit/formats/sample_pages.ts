import type { ResourceName } from "../../../mod.ts";
import { sandboxRequests } from "../../helpers/sandbox.ts";

/** JSON values with escapes, quotes, nested arrays, exact digits and multi-byte characters. */
const VALUES = [
  String.raw`"say \"ah\", then \\ \/ \b\f\n\r\t"`,
  String.raw`"\u0041\u00e9 \ud83e\udd86"`,
  `"Rivière-aux-Érables, l’île 🦆"`,
  String.raw`["a","b, \"c\"",[],{"d":[1.50e-3,null,true]}]`,
  "-12.500",
];

/** Returns a page of two rows with a next link from the sandbox, with some cells set to `VALUES`. */
export async function samplePage(resource: ResourceName): Promise<string> {
  const response = await sandboxRequests().get(resource, { $top: 2 });
  let index = 0;
  return (await response.text()).replace(
    /("(?:\w*Name|\w*Type|Abstract|MonitoringLocation\w*)":)"(?:[^"\\]|\\.)*"/g,
    (_, name) => name + VALUES[index++ % VALUES.length],
  );
}

/** Repeats the rows of a sample page and truncates it inside a string of the last row. */
export function truncatedPage(sample: string, copies: number): Uint8Array<ArrayBuffer> {
  const start = sample.indexOf("[{") + 1;
  const rows = sample.slice(start, sample.indexOf('],"@odata.nextLink"'));
  const text = sample.slice(0, start) + `${rows},`.repeat(copies);
  return new TextEncoder().encode(text.slice(0, text.lastIndexOf("aux-Érables")));
}
