// Malformed headers, links and texts of the service: each takes linear time.
// Measures functions directly, because a query takes more time than they do.
import "../../helpers/no_permission.ts";
import { assertThrows } from "@std/assert";
import { statusError } from "../../../src/client/http_error.ts";
import { nextLinkTarget, readNextLink } from "../../../src/client/next_link.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";
import { ROOT } from "../../helpers/upstream.ts";

type Text = (size: number) => string;

const request = {
  url: `${ROOT}/Records?$select=Id&$filter=DOI%20eq%20'a'&$skiptoken=Id:5`,
  headers: new Headers(),
};
const skipTokenOf = (query: string) =>
  readNextLink({ "@odata.nextLink": `${ROOT}/Records?${query}` }, request);

const rejected: [symbol: string, read: (text: string) => unknown, texts: Record<string, Text>][] = [
  ["nextLinkTarget", nextLinkTarget, {
    "n <": (n) => "<".repeat(n),
    "n semicolons": (n) => `<u>${";".repeat(n)}`,
    "n backslashes in a quoted text": (n) => `<u>; a="${"\\".repeat(2 * n)}`,
    "n escaped quotes": (n) => `<u>; a="${'\\"'.repeat(n)}`,
    "n unclosed texts": (n) => `<u>${'; a="'.repeat(2 * n + 1)}`,
    "n spaces before a semicolon": (n) => `<u>${" ".repeat(n)}x`,
    "n spaces after a semicolon": (n) => `<u>;${" ".repeat(n)}`,
    "n spaces after a name": (n) => `<u>; a${" ".repeat(n)}"b"`,
    "n spaces after an equals sign": (n) => `<u>; a=${" ".repeat(n)}"`,
    "n parameters": (n) => `<u>${"; a=b".repeat(n)}"`,
  }],
  ["readNextLink", skipTokenOf, {
    "n options": (n) => "&a=b".repeat(n),
    "n filters": (n) => "&$filter=a".repeat(n),
    "n & in a filter": (n) => `$filter=${"a&".repeat(n)}`,
    "n percent signs in a filter": (n) => `$filter=${"%".repeat(n)}`,
    "n commas in a selection": (n) => `$select=${",".repeat(n)}`,
    "n percent signs in a token": (n) => `$skiptoken=${"%".repeat(n)}`,
  }],
];
for (const [symbol, read, texts] of rejected) {
  for (const [what, text] of Object.entries(texts)) {
    Deno.test(`${symbol}() throws in linear time when a text has ${what}`, async () => {
      await assertLinear(text, read);
      assertThrows(() => read(text(1_000)), Error);
    });
  }
}

const accepted: [symbol: string, read: (text: string) => unknown, text: Text][] = [
  ["nextLinkTarget", nextLinkTarget, (n) => "<u>; rel=prev,".repeat(n)],
  ["nextLinkTarget", nextLinkTarget, (n) => `<u>; rel="${"a ".repeat(n)}"`],
  ["readNextLink", skipTokenOf, (n) => `$skiptoken=Id:${"9".repeat(n)}`],
  [
    "statusError",
    (body) => statusError(new Response(null, { status: 400 }), ROOT, body, (text) => text),
    (n) => `{"message":"${"\\n".repeat(n)}a"}`,
  ],
];
for (const [symbol, read, text] of accepted) {
  Deno.test(`${symbol}() takes linear time when a text is like ${text(2)}`, async () =>
    await assertLinear(text, read));
}
