import type { ResourceName } from "../../mod.ts";
import { ask } from "./sandbox.ts";

/** Formats of a document, by resource. */
export const FORMATS_OF: Record<ResourceName, readonly ("csv" | "ndjson" | "json" | "geojson")[]> =
  {
    Metadata: ["csv", "ndjson", "json"],
    Locations: ["csv", "ndjson", "json", "geojson"],
    Observations: ["csv", "ndjson", "json"],
    Records: ["csv", "ndjson", "json"],
  };

/** The resources. */
export const RESOURCE_NAMES = Object.keys(FORMATS_OF) as ResourceName[];

/** JSON with escapes, quotes, nested lists, digits to keep, and characters of one to four bytes. */
const VALUES = [
  String.raw`"say \"ah\", then \\ \/ \b\f\n\r\t"`,
  String.raw`"\u0041\u00e9 \ud83e\udd86"`,
  `"Rivière-aux-Érables, l’île 🦆"`,
  String.raw`["a","b, \"c\"",[],{"d":[1.50e-3,null,true]}]`,
  "-12.500",
];

/** A page of two rows with a next link, as the sandbox writes it, some texts replaced by `VALUES`. */
export async function samplePage(resource: ResourceName): Promise<string> {
  const response = await ask().get(resource, { $top: 2 });
  let index = 0;
  return (await response.text()).replace(
    /("(?:\w*Name|\w*Type|Abstract|MonitoringLocation\w*)":)"(?:[^"\\]|\\.)*"/g,
    (_, name) => name + VALUES[index++ % VALUES.length],
  );
}

/** The bytes of a page that repeats the rows of a sample, and ends inside a text of the last row. */
export function truncatedPage(sample: string, copies: number): Uint8Array<ArrayBuffer> {
  const start = sample.indexOf("[{") + 1;
  const rows = sample.slice(start, sample.indexOf('],"@odata.nextLink"'));
  const text = sample.slice(0, start) + `${rows},`.repeat(copies);
  return new TextEncoder().encode(text.slice(0, text.lastIndexOf("aux-Érables")));
}
