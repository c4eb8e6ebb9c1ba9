// The style sheet works in browsers without light-dark().
import "../../../helpers/no_permission.ts";
import { assertEquals, assertMatch } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { get } from "./pages.ts";

Deno.test("GET /weir.css has the colours of light screens for browsers without light-dark()", async () => {
  const { app } = overSandbox();
  const [, fallback] = /@supports not .*? \{(.*?)\}/s.exec(await get(app, "/weir.css"))!;
  assertMatch(fallback!, /--paper: #fff;/);
  assertEquals(fallback!.includes("light-dark"), false);
});
