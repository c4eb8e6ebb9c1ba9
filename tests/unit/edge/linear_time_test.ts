// Malformed query strings, headers, names and forms: each is answered in linear time.
// Measures functions directly, because a request takes more time than they do.

import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import {
  citeAs,
  contentDisposition,
  negotiateFormat,
  toFileName,
} from "../../../edge/downloads/headers.ts";
import { nearCharacteristics } from "../../../edge/page/characteristics.ts";
import { readForm, toSelection } from "../../../edge/page/form.ts";
import { chooseLanguage } from "../../../edge/page/text.ts";
import { publicOrigin } from "../../../edge/page/download_link.ts";
import { toProblem } from "../../../edge/downloads/problem.ts";
import { assertLinear } from "../../helpers/doubling.ts";
import { overSandbox } from "../../helpers/edge.ts";

type Text = (size: number) => string;

const { app } = overSandbox();
const statusOf = async (query: string) =>
  (await app.request(`/Records?${query}`, { method: "HEAD" })).status;

const queries: Record<string, Text> = {
  "n &": (n) => "a&".repeat(n),
  "an option of n characters": (n) => "a".repeat(n),
  "n hints in an option's name": (n) => "give the query within: {".repeat(n),
  "n hints in an option's value": (n) => `$top=${"give the query within: {".repeat(n)}`,
  "n other hints in an option's value": (n) => `$top=${": use ".repeat(n)}`,
  "n spaces in an option's value": (n) => `bom=${" ".repeat(n)}`,
  "n digits in $top": (n) => `$top=${"1".repeat(n)}`,
  "n quotes in a filter": (n) => `$filter=${"'".repeat(n)}`,
  "n ands in a filter": (n) => `$filter=${"and ".repeat(n)}`,
  "a field of n characters in a filter": (n) => `$filter=${"a".repeat(n)} eq 1`,
  "n commas in a selection": (n) => `$select=${",".repeat(n)}`,
  "one field selected n times": (n) => `$select=${"Id,".repeat(n)}`,
  "n commas in a box": (n) => `bbox=${",".repeat(n)}`,
  "n digits in a box": (n) => `bbox=${"1".repeat(n)}`,
  "n dots in a file name": (n) => `filename=${".".repeat(n)}a`,
  "n semicolons in a format": (n) => `$format=${";".repeat(n)}`,
  "a format of n characters": (n) => `$format=${"a".repeat(n)}`,
};
for (const [what, query] of Object.entries(queries)) {
  Deno.test(`EdgeApp.request() answers 400 in linear time when a query has ${what}`, async () => {
    await assertLinear(query, statusOf);
    assertEquals(await statusOf(query(2_000)), 400);
  });
}

Deno.test("EdgeApp.request() answers in linear time when a path has n characters", async () =>
  await assertLinear((n) => `/${"a".repeat(n)}`, async (path) => await app.request(path)));

for (const part of [",", ";", '"', '",', "text/csv,", "a/b;q=0.5,", ";q=", "/"]) {
  Deno.test(`negotiateFormat() takes linear time when the accept header repeats "${part}"`, async () =>
    await assertLinear(
      (n) => new Request("http://a", { headers: { accept: `${part.repeat(n)}x` } }),
      (request) => negotiateFormat(request, "Records", undefined),
    ));
}

const bearer = overSandbox({}, { access: "token", tokens: ["a-token-of-this-test"] }).app;
for (const part of [" ", "a ", "bearer "]) {
  Deno.test(`EdgeApp.request() answers 401 in linear time when the authorization repeats "${part}"`, async () => {
    const request = (n: number) =>
      new Request("http://a/Records.csv", {
        headers: { authorization: `bearer ${part.repeat(n)}a b` },
      });
    const statusOf = async (request: Request) => (await bearer.fetch(request)).status;
    await assertLinear(request, statusOf);
    assertEquals(await statusOf(request(1_000)), 401);
  });
}

for (const part of [".", " ", " .", "a.", ".csv", "/", "-"]) {
  Deno.test(`toFileName() takes linear time when a name repeats "${part}"`, async () =>
    await assertLinear((n) => `a${part.repeat(n)}b`, (name) => toFileName(name, "csv")));
}

const texts: [name: string, text: Text, read: (text: string) => unknown][] = [
  [
    "toProblem() takes linear time when an error repeats a character of an option in its texts",
    (n) => "{".repeat(n),
    (text) => toProblem(new ValidationError("filter", text, { hint: text })),
  ],
  [
    "toProblem() takes linear time when an error has n options and spaces in its texts",
    (n) => "{within} \n".repeat(n),
    (text) => toProblem(new ValidationError("filter", text, { hint: text })),
  ],
  [
    "contentDisposition() takes linear time when a name has n letters with marks",
    (n) => "ǟ'".repeat(n),
    contentDisposition,
  ],
  [
    "citeAs() takes linear time when a filter has n clauses",
    (n) => `${"DOI eq '10.25976/x' and ".repeat(n)}DOI eq '10.25976/x'`,
    citeAs,
  ],
  [
    "citeAs() takes linear time when a DOI has n spaces",
    (n) => `DOI eq '10.25976/${"a ".repeat(n)}'`,
    citeAs,
  ],
  [
    "readForm() takes linear time when a form has n commas",
    (n) => `dataset=${", ".repeat(n)}`,
    (text) => toSelection(readForm(new URLSearchParams(text), "en")),
  ],
  [
    "readForm() takes linear time when a form has n datasets and characteristics",
    (n) => "dataset=a&characteristic=b&".repeat(n),
    (text) => toSelection(readForm(new URLSearchParams(text), "en")),
  ],
  [
    "chooseLanguage() takes linear time when a header has n languages",
    (n) => "fr;q=0.1,".repeat(n),
    (header) => chooseLanguage(null, header),
  ],
  [
    "nearCharacteristics() takes linear time when a name has n letters",
    (n) => "phosphorous".repeat(n),
    nearCharacteristics,
  ],
  [
    "publicOrigin() takes linear time when a header has n commas",
    (n) => ",".repeat(n),
    (host) => publicOrigin(new Request("http://a", { headers: { "x-forwarded-host": host } })),
  ],
];
for (const [name, text, read] of texts) {
  Deno.test(name, async () => await assertLinear(text, read));
}
