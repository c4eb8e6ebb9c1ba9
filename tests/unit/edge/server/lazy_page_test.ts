// The web page is loaded at its first request, and an app without it names the URLs of downloads.
import "../../../helpers/no_permission.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Hono } from "hono";
import type { AppContext } from "../../../../edge/downloads/document.ts";
import type { Exchange, Router } from "../../../../edge/http/exchange.ts";
import { addPage } from "../../../../edge/server/lazy_page.ts";
import { overSandbox, problemOf } from "../../../helpers/edge.ts";

Deno.test("addPage() creates the page once for concurrent requests, and loads it again after a failure", async () => {
  const counts = { loaded: 0, created: 0 };
  const createPage = (): Router => {
    counts.created++;
    return new Hono().get("/", ({ text }) => text("page")) as unknown as Router;
  };
  const load = async () => {
    if (++counts.loaded <= 2) throw new TypeError("cannot load the chunk");
    await Promise.resolve();
    return { createPage };
  };
  const app: Router = new Hono();
  app.onError((error) => {
    throw error;
  });
  const settings = { access: "public", page: true, tokens: [] };
  addPage(app, { settings } as unknown as AppContext, undefined, load);
  const get = async () => {
    const request = new Request("http://localhost/");
    const response = await app.fetch(request, { exchange: { request } as Exchange });
    return await response.text();
  };
  for (const _ of [1, 2]) await assertRejects(get, TypeError, "cannot load the chunk");
  assertEquals(await Promise.all([get(), get(), get()]), ["page", "page", "page"]);
  assertEquals([await get(), counts.created], ["page", 1]);
});

Deno.test("createApp() without a page responds to its paths with 404, and names the URLs of downloads", async () => {
  const { app } = overSandbox({ records: 1 }, { page: false });
  for (const path of ["/", "/weir.js", "/datasets/10.25976/weir-bb00"]) {
    const response = await app.request(path);
    assertEquals(response.status, 404);
    assertStringIncludes((await problemOf(response)).hint, "/Records.csv");
  }
  assertEquals((await app.request("/Records.csv")).status, 200);
});
