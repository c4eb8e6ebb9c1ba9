// endpoint() differs from `@octokit/endpoint` as the tables of `docs/endpoint.md` say, row by row. `tests/properties` compares
// other calls.
import { assertEquals } from "@std/assert";
import { endpoint as octokit } from "@octokit/endpoint";
import { endpoint } from "../../../mod.ts";
import { DOCUMENTS } from "../../helpers/documents.ts";
import { readTable, sectionOf } from "./markdown_tables.ts";

const defaults = { baseUrl: "https://a.org", headers: { accept: "application/vnd.a.v3+json" } };
const builders = [octokit.defaults(defaults), endpoint.defaults(defaults)];

function resultOf(build: unknown, expression: string): string {
  try {
    const result = String(new Function("endpoint", `return ${expression}`)(build));
    return result === "" ? "empty" : `\`${result.replace(/^https:\/\/a\.org(?=\/)/, "")}\``;
  } catch {
    return "error";
  }
}

const tables: [heading: string, toExpression: (cell: string) => string][] = [
  ["URLs", (call) => `endpoint(${call}).url`],
  ["Methods, headers and bodies", (expression) => expression],
];
for (const [heading, toExpression] of tables) {
  const section = sectionOf(DOCUMENTS.get("docs/endpoint.md")!, heading);
  for (const [difference, call, ...expected] of readTable(section, "difference")) {
    Deno.test(`endpoint() differs from @octokit/endpoint as documented: ${difference}`, () => {
      const expression = toExpression(call!.slice(1, -1));
      assertEquals(builders.map((build) => resultOf(build, expression)), expected);
    });
  }
}
