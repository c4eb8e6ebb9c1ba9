// The client in a browser page of another origin. Requests without a key need no CORS preflight.
import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import type { AnyOriginServer } from "../any_origin_server.ts";
import { browserTest, inBrowser } from "./chromium.ts";
import { serveService, serveSite } from "./site.ts";

const KEY = "sandbox";

const preflights = ({ requests }: AnyOriginServer) =>
  requests.filter(({ method }) => method === "OPTIONS");
/** Returns the API key of each request except preflights. */
const keys = ({ requests }: AnyOriginServer) =>
  requests.filter(({ method }) => method !== "OPTIONS").map(({ headers }) =>
    headers.get("x-api-key")
  );

function countRows(page: Page, { origin }: AnyOriginServer, apiKey?: string): Promise<number> {
  const options = { baseUrl: `${origin}/v1/odata/v4`, userAgent: "a-page/1.0", apiKey };
  return page.evaluate(`(async () => {
    const { DataStream } = await import("/weir.js");
    const client = new DataStream({ requestsPerSecond: Infinity, ...${JSON.stringify(options)} });
    let rows = 0;
    for await (const row of client.observations({ top: 120 })) rows += row.Id > 0 ? 1 : 0;
    return rows;
  })()`);
}

browserTest(
  "DataStream causes a preflight only when it has a key in a browser",
  async () => {
    await using site = await serveSite();
    await using service = serveService();
    await using other = serveService();
    await inBrowser(async (browser) => {
      const page = await browser.newPage();
      await page.goto(site.origin);

      assertEquals(await countRows(page, service), 300);
      // Three pages and one count.
      assertEquals([service.requests.length, preflights(service).length], [4, 0]);
      for (const { headers } of service.requests) {
        assertEquals(headers.get("accept"), "application/vnd.api+json");
        assertEquals(headers.get("origin"), site.origin);
        assert(headers.get("user-agent")?.startsWith("Mozilla/"));
        assertEquals(headers.has("x-api-key"), false);
      }

      assertEquals(await countRows(page, service, KEY), 300);
      assertEquals(keys(service), [...Array(4).fill(null), ...Array(4).fill(KEY)]);
      assert(preflights(service).length > 0);
      for (const { headers } of preflights(service)) {
        assertEquals(headers.get("access-control-request-headers"), "x-api-key");
      }

      assertEquals(await countRows(page, other), 300);
      assertEquals([keys(other), preflights(other).length], [Array(4).fill(null), 0]);
      const fromSite = site.requests.map(({ url }) => new URL(url).pathname);
      assertEquals(fromSite, ["/", "/weir.js"]);
      assertEquals([...new Set(keys(site))], [null]);
    });
  },
);
