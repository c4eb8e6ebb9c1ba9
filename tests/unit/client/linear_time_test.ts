// Malformed headers, links and texts of the service: each takes linear time.
// Measures functions directly, because a query takes more time than they do.

import "../../helpers/no_permission.ts";
import { assert, assertThrows } from "@std/assert";
import { DataStream, DataStreamError } from "../../../mod.ts";
import { readRetryAfter, statusError } from "../../../src/client/http_error.ts";
import { nextLinkTarget, readSkipToken } from "../../../src/client/next_link.ts";
import { isJson } from "../../../src/client/transport.ts";
import { formatsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { assertLinear } from "../../helpers/doubling.ts";
import { ROOT } from "../../helpers/upstream.ts";
import { queryOver, readWholeQuery } from "./page_readers.ts";
import { samplePage, truncatedPage } from "../formats/sample_pages.ts";

type Text = (size: number) => string;

const badLinks: Record<string, Text> = {
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
for (const [what, header] of Object.entries(badLinks)) {
  Deno.test(`nextLinkTarget() throws in linear time when the header has ${what}`, async () => {
    await assertLinear(header, nextLinkTarget);
    assertThrows(() => nextLinkTarget(header(1_000)), SyntaxError, "cannot be read");
  });
}

const links: Record<string, Text> = {
  "n links": (n) => "<u>; rel=prev,".repeat(n),
  "n relation types": (n) => `<u>; rel="${"a ".repeat(n)}"`,
  "n spaces": (n) => " ".repeat(n),
};
for (const [what, header] of Object.entries(links)) {
  Deno.test(`nextLinkTarget() takes linear time when the header has ${what}`, async () =>
    await assertLinear(header, nextLinkTarget));
}

const skipTokenOf = (query: string) =>
  readSkipToken(
    { "@odata.nextLink": `${ROOT}/Records?${query}` },
    {
      url: `${ROOT}/Records?$select=Id&$filter=DOI%20eq%20'a'&$skiptoken=Id:5`,
      headers: new Headers(),
    },
  );

const badQueries: Record<string, Text> = {
  "n &": (n) => "&".repeat(n),
  "n options": (n) => "&a=b".repeat(n),
  "n names without a value": (n) => "&a".repeat(n),
  "a name of n characters": (n) => `$filter=a&${"b".repeat(n)}`,
  "n filters": (n) => "&$filter=a".repeat(n),
  "n & in a filter": (n) => `$filter=${"a&".repeat(n)}`,
  "n & and parts of a $ in a filter": (n) => `$filter=${"&%2".repeat(n)}`,
  "n percent signs in a filter": (n) => `$filter=${"%".repeat(n)}`,
  "n quotes in a filter": (n) => `$filter=${"'".repeat(n)}`,
  "n commas in a selection": (n) => `$select=${",".repeat(n)}`,
  "n percent signs in a token": (n) => `$skiptoken=${"%".repeat(n)}`,
  "n question marks": (n) => "?".repeat(n),
};
for (const [what, query] of Object.entries(badQueries)) {
  Deno.test(`readSkipToken() throws in linear time when the link has ${what}`, async () => {
    await assertLinear(query, skipTokenOf);
    const error = assertThrows(() => skipTokenOf(query(1_000)), DataStreamError);
    assert(error.kind === "next-link");
  });
}

Deno.test("readSkipToken() takes linear time when a token has n digits", async () =>
  await assertLinear((n) => `$skiptoken=Id:${"9".repeat(n)}`, skipTokenOf));

const statusOf = (body: string) =>
  statusError(new Response(null, { status: 400 }), `${ROOT}/Records`, body, (text) => text);
const header = (name: string) => (value: string) =>
  ({ get: (headerName: string) => headerName === name ? value : null }) as unknown as Headers;

const others: [symbol: string, what: string, text: Text, read: (text: string) => unknown][] = [
  ...["1", " ", "(", ")", "a ", ":", "-", "1 Jan "].map((
    part,
  ): [string, string, Text, (text: string) => unknown] => [
    "readRetryAfter",
    `the header repeats "${part}"`,
    (n) => `${part.repeat(n)}GMT`,
    (text) => readRetryAfter(header("retry-after")(text)),
  ]),
  ...["a", "a/", "a/a ", "(a) ", "(", " "].map((
    part,
  ): [string, string, Text, (text: string) => unknown] => [
    "new DataStream",
    `the user agent repeats "${part}"`,
    (n) => `a ${part.repeat(n)}\n`,
    (userAgent) => new DataStream({ userAgent }),
  ]),
  ...["a", "+", "a+", "."].map((part): [string, string, Text, (text: string) => unknown] => [
    "isJson",
    `the type repeats "${part}"`,
    (n) => `application/${part.repeat(n)}`,
    (text) => isJson(header("content-type")(text)),
  ]),
  ["statusError", "a body has n backslashes", (n) => `{"message":"${"\\".repeat(n)}`, statusOf],
  ["statusError", "a body has n quotes", (n) => `{"message":${'"'.repeat(n)}`, statusOf],
  [
    "statusError",
    "a message has n line feeds",
    (n) => `{"message":"${"\\n".repeat(n)}a"}`,
    statusOf,
  ],
];
for (const [symbol, what, text, read] of others) {
  Deno.test(`${symbol}() takes linear time when ${what}`, async () =>
    await assertLinear(text, read));
}

for (const resource of RESOURCE_NAMES) {
  for (const format of ["rows", ...formatsOf(resource)] as const) {
    const symbol = format === "rows" ? "toArray" : format;
    Deno.test(`${symbol}() rejects in linear time when a page of ${resource} is truncated`, async () => {
      const sample = await samplePage(resource);
      await assertLinear(
        (copies) => truncatedPage(sample, copies),
        (page) => readWholeQuery(queryOver(resource, page.slice()), format),
      );
    });
  }
}
