// The page has code for each program, which does not contain a key or token.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SNIPPET_IDS } from "../../../../src/formats/code_snippets.ts";
import type { AppOptions } from "../../../../edge/app.ts";
import { overSandbox } from "../../../helpers/edge.ts";
import { get, TOKEN } from "./pages.ts";

Deno.test("GET / has code for each program, without a key or token", async () => {
  const modes: [options: Partial<AppOptions>, headers: HeadersInit, variable: string][] = [
    [{}, {}, ""],
    [{ access: "caller" }, { "x-api-key": "sandbox" }, "DATASTREAM_API_KEY"],
    [{ access: "token", tokens: [TOKEN] }, { authorization: `Bearer ${TOKEN}` }, "WEIR_TOKEN"],
  ];
  for (const [options, headers, variable] of modes) {
    const { app } = overSandbox({ records: 300 }, options);
    const html = await get(app, "/?characteristic=pH", { headers });
    const code = [...html.matchAll(/<pre[^>]*><code>(.*?)<\/code>/gs)].map(([, text]) => text!);
    assertEquals(code.length, SNIPPET_IDS.length);
    assertMatch(html, /<input type="radio" name="code" id="code-r" checked/);
    for (const [index, text] of code.entries()) {
      assertStringIncludes(
        text,
        SNIPPET_IDS[index] === "duckdb" ? "/Records.parquet?" : "/Records.csv?",
      );
      assertStringIncludes(text, variable);
    }
    assertEquals(html.includes('"sandbox"') || html.includes(TOKEN), false);
  }
});
