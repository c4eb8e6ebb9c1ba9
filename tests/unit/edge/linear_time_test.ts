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
import { bearerToken } from "../../../edge/http/access.ts";
import { nearCharacteristics } from "../../../edge/page/characteristics.ts";
import { readForm, toSelection } from "../../../edge/page/form.ts";
import { chooseLocale, LOCALES } from "../../../edge/page/text.ts";
import { publicOrigin } from "../../../edge/http/public_origin.ts";
import { toProblem } from "../../../edge/http/problem.ts";
import { selectBytes } from "../../../edge/http/ranges.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";
import { overSandbox } from "../../helpers/edge.ts";

type Text = (size: number) => string;

const FILE = { size: 10, etag: '"a"' };

const { app } = overSandbox();
const statusOf = async (query: string) =>
  (await app.request(`/Records?${query}`, { method: "HEAD" })).status;

const queries: Record<string, Text> = {
  "an option of n characters": (n) => "a".repeat(n),
  "n hints in an option's value": (n) => `$top=${"give the query within: {".repeat(n)}`,
  "n spaces in an option's value": (n) => `bom=${" ".repeat(n)}`,
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

const accept = (text: string) => new Request("http://a", { headers: { accept: `${text}x` } });
const form = (text: string) => toSelection(readForm(new URLSearchParams(text), LOCALES.en));
const near = (text: string) => nearCharacteristics(text, LOCALES.en);
const problem = (text: string) => toProblem(new ValidationError("filter", text, { hint: text }));
const authorized = (authorization: string) =>
  new Request("http://a", { headers: { authorization: `bearer ${authorization}a b` } });
const forwarded = (host: string) =>
  new Request("http://a", { headers: { "x-forwarded-host": host } });

const reads: [name: string, what: string, text: Text, read: (text: string) => unknown][] = [
  ...['",', "a/b;q=0.5,"].map((part): typeof reads[number] => [
    "negotiateFormat()",
    `the accept header repeats "${part}"`,
    (n) => part.repeat(n),
    (text) => negotiateFormat(accept(text), "Records", undefined),
  ]),
  ...[" .", ".csv"].map((part): typeof reads[number] => [
    "toFileName()",
    `a name repeats "${part}"`,
    (n) => `a${part.repeat(n)}b`,
    (name) => toFileName(name, "csv", false),
  ]),
  ["toProblem()", "texts have n braces", (n) => "{".repeat(n), problem],
  ["toProblem()", "texts have n options", (n) => "{within} \n".repeat(n), problem],
  ["contentDisposition()", "n letters have marks", (n) => "ǟ'".repeat(n), contentDisposition],
  ["citeAs()", "a filter has n clauses", (n) => `${"DOI eq '1' and ".repeat(n)}DOI eq '1'`, citeAs],
  ["citeAs()", "a DOI has n spaces", (n) => `DOI eq '10.25976/${"a ".repeat(n)}'`, citeAs],
  ["bearerToken()", "n spaces", (n) => " ".repeat(n), (text) => bearerToken(authorized(text))],
  ["readForm()", "a form has n commas", (n) => `dataset=${", ".repeat(n)}`, form],
  ["readForm()", "a form has n fields", (n) => "dataset=a&characteristic=b&".repeat(n), form],
  [
    "chooseLocale()",
    "n languages",
    (n) => "fr;q=0.1,".repeat(n),
    (text) => chooseLocale(null, text),
  ],
  ["nearCharacteristics()", "n letters", (n) => "phosphorous".repeat(n), near],
  ...[["if-none-match", '"a" ,'], ["range", "bytes=1-"], ["range", "bytes=,"], ["range", "bytes=9"]]
    .map(([name = "", part = ""]): typeof reads[number] => [
      "selectBytes()",
      `the header ${name} repeats ${part}`,
      (n) => part.repeat(n),
      (text) => selectBytes(new Request("http://a", { headers: { [name]: text } }), FILE),
    ]),
  ["publicOrigin()", "n commas", (n) => ",".repeat(n), (text) => publicOrigin(forwarded(text))],
];
for (const [name, what, text, read] of reads) {
  Deno.test(`${name} takes linear time: ${what}`, async () => await assertLinear(text, read));
}
