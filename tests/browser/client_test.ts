// The client in a real browser, over loopback: no request asks for leave where there is no key.
import { assert, assertEquals } from "@std/assert";
import { createSandbox } from "../../src/sandbox/service.ts";
import { inBrowser, isInstalled, LOOPBACK } from "./chromium.ts";

/** `mod.ts` and all that it imports, as one module script. */
async function bundle(): Promise<Uint8Array<ArrayBuffer>> {
  const args = ["bundle", "--quiet", "--platform", "browser", "mod.ts"];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return stdout;
}

/** The service as it meets browsers: their pages need no key, and are told that they may read. */
function browserService() {
  const sandbox = createSandbox({ records: 300 });
  const asked: Request[] = [];
  const handler = async (request: Request): Promise<Response> => {
    asked.push(request);
    const cors = {
      "access-control-allow-origin": request.headers.get("origin") ?? "",
      "access-control-allow-headers": "x-api-key",
    };
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: cors });
    const headers = new Headers(request.headers);
    if (!headers.has("x-api-key")) headers.set("x-api-key", sandbox.apiKey);
    const response = await sandbox.fetch(request.url, { headers });
    return new Response(response.body, {
      status: response.status,
      headers: { ...Object.fromEntries(response.headers), ...cors },
    });
  };
  return { asked, handler, apiKey: sandbox.apiKey };
}

Deno.test({
  name: "a page gets every row, without a preflight where it has no key, and with one where it has",
  ignore: !isInstalled,
  async fn() {
    const script = await bundle();
    await using site = Deno.serve(
      LOOPBACK,
      ({ url }) =>
        new URL(url).pathname === "/mod.js"
          ? new Response(script, { headers: { "content-type": "text/javascript" } })
          : new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
    );
    const { asked, handler, apiKey } = browserService();
    await using service = Deno.serve(LOOPBACK, handler);
    await inBrowser(async (browser) => {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${site.addr.port}/`);
      const rows = (apiKey?: string) =>
        page.evaluate(`(async () => {
          const { DataStream } = await import("/mod.js");
          const client = new DataStream({
            baseUrl: "http://127.0.0.1:${service.addr.port}/v1/odata/v4",
            userAgent: "a-page/1.0",
            apiKey: ${JSON.stringify(apiKey)},
          });
          let rows = 0;
          for await (const row of client.observations({ top: 120 })) rows += row.Id > 0 ? 1 : 0;
          return rows;
        })()`);
      const preflights = () => asked.filter(({ method }) => method === "OPTIONS").length;

      assertEquals(await rows(), 300);
      // Three pages and a count.
      assertEquals([asked.length, preflights()], [4, 0]);
      for (const { headers } of asked) {
        assertEquals(headers.get("accept"), "application/vnd.api+json");
        assert(headers.get("user-agent")?.startsWith("Mozilla/"));
        assertEquals(headers.has("x-api-key"), false);
      }

      assertEquals(await rows(apiKey), 300);
      assert(preflights() > 0);
    });
  },
});
