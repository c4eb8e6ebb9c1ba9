// Malformed headers, links and texts of the service: each takes linear time.
// Measures functions directly, because a query takes more time than they do.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { readRetryAfter, statusError } from "../../../src/client/http_error.ts";
import { nextLinkTarget, readSkipToken } from "../../../src/client/next_link.ts";
import { isJson } from "../../../src/client/transport.ts";
import { assertLinear } from "../../helpers/doubling.ts";
import { ROOT, upstream } from "../../helpers/upstream.ts";
import { samplePage, truncatedPage } from "../formats/sample_pages.ts";

type Text = (size: number) => string;

const badHeaders: Record<string, Text> = {
  "n <": (n) => "<".repeat(n),
  "n semicolons": (n) => `<u>${";".repeat(n)}`,
  "n quotes": (n) => `<u>; a=${'"'.repeat(2 * n + 1)}`,
  "n backslashes": (n) => `<u>; a="${"\\".repeat(2 * n)}`,
  "n escaped quotes": (n) => `<u>; a="${'\\"'.repeat(n)}`,
  "an unclosed text of n characters": (n) => `<u>; a="${"a".repeat(n)}`,
  "n unclosed texts": (n) => `<u>${'; a="'.repeat(2 * n + 1)}`,
  "n spaces before a semicolon": (n) => `<u>${" ".repeat(n)}x`,
  "n spaces after a semicolon": (n) => `<u>;${" ".repeat(n)}`,
  "n spaces after a name": (n) => `<u>; a${" ".repeat(n)}"b"`,
  "n spaces after an equals sign": (n) => `<u>; a=${" ".repeat(n)}"`,
  "n parameters": (n) => `<u>${"; a=b".repeat(n)}"`,
};
for (const [what, header] of Object.entries(badHeaders)) {
  Deno.test(`nextLinkTarget() throws in linear time when the header has ${what}`, async () => {
    await assertLinear(header, nextLinkTarget);
    assertThrows(() => nextLinkTarget(header(1_000)), SyntaxError, "cannot be read");
  });
}

const request = {
  url: `${ROOT}/Records?$select=Id&$filter=DOI%20eq%20'a'&$skiptoken=Id:5`,
  headers: new Headers(),
};
const skipTokenOf = (query: string) =>
  readSkipToken({ "@odata.nextLink": `${ROOT}/Records?${query}` }, request);

const badLinks: Record<string, Text> = {
  "n &": (n) => "&".repeat(n),
  "n options": (n) => "&a=b".repeat(n),
  "n names without a value": (n) => "&a".repeat(n),
  "a name of n characters": (n) => `$filter=a&${"b".repeat(n)}`,
  "n filters": (n) => "&$filter=a".repeat(n),
  "n & in a filter": (n) => `$filter=${"a&".repeat(n)}`,
  "n & and parts of a $ in a filter": (n) => `$filter=${"&%2".repeat(n)}`,
  "n percent signs in a filter": (n) => `$filter=${"%".repeat(n)}`,
  "n commas in a selection": (n) => `$select=${",".repeat(n)}`,
  "n percent signs in a token": (n) => `$skiptoken=${"%".repeat(n)}`,
  "n question marks": (n) => "?".repeat(n),
};
for (const [what, query] of Object.entries(badLinks)) {
  Deno.test(`readSkipToken() throws in linear time when the link has ${what}`, async () => {
    await assertLinear(query, skipTokenOf);
    const error = assertThrows(() => skipTokenOf(query(1_000)), DataStreamError);
    assertEquals(error.kind, "next-link");
  });
}

const statusOf = (body: string) =>
  statusError(new Response(null, { status: 400 }), `${ROOT}/Records`, body, (text) => text);
/** Creates headers with a value that `Headers` may reject. */
const headersOf = (value: string) => ({ get: () => value }) as unknown as Headers;
const repeated = (start: string, part: string, end = ""): Text => (n) =>
  start + part.repeat(n) + end;
const repeatedParts = (parts: string[], start: string, end?: string): Record<string, Text> =>
  Object.fromEntries(parts.map((part) => [`n times "${part}"`, repeated(start, part, end)]));

const readers: [symbol: string, read: (text: string) => unknown, texts: Record<string, Text>][] = [
  ["nextLinkTarget", nextLinkTarget, {
    "n links": repeated("", "<u>; rel=prev,"),
    "n relation types": repeated('<u>; rel="', "a ", '"'),
    "n spaces": repeated("", " "),
  }],
  ["readSkipToken", skipTokenOf, { "a token of n digits": repeated("$skiptoken=Id:", "9") }],
  ["statusError", statusOf, {
    "n backslashes": repeated('{"message":"', "\\"),
    "n quotes": repeated('{"message":', '"'),
    "a message of n line feeds": repeated('{"message":"', "\\n", 'a"}'),
  }],
  [
    "readRetryAfter",
    (text) => readRetryAfter(headersOf(text)),
    repeatedParts(["1", " ", "(", ")", "a ", ":", "-", "1 Jan "], "", "GMT"),
  ],
  [
    "new DataStream",
    (userAgent) => new DataStream({ userAgent }),
    repeatedParts(["a", "a/", "a/a ", "(a) ", "(", " "], "a ", "\n"),
  ],
  [
    "isJson",
    (text) => isJson(headersOf(text)),
    repeatedParts(["a", "+", "a+", "."], "application/"),
  ],
];
for (const [symbol, read, texts] of readers) {
  for (const [what, text] of Object.entries(texts)) {
    Deno.test(`${symbol}() takes linear time when a text has ${what}`, async () =>
      await assertLinear(text, read));
  }
}

for (const format of ["rows", "csv", "json"] as const) {
  Deno.test(`a query rejects in linear time when it has a truncated page as ${format}`, async () => {
    const sample = await samplePage("Locations");
    await assertLinear(
      (copies) => truncatedPage(sample, copies),
      async (page) => {
        const reply = new Response(page.slice(), {
          headers: { "content-type": "application/json" },
        });
        const query = new DataStream(upstream(reply).options).locations();
        await (format === "rows" ? query.toArray() : new Response(query.bytes(format)).bytes());
      },
    );
  });
}
