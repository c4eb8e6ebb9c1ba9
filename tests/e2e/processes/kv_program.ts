// Downloads locations with an app whose rate limiter is in Deno KV, and prints the number of lines of each
// download as JSON. Arguments: URL of the service, file of the database, number of concurrent downloads.
import { createKvRateLimiter } from "../../../edge/deno/kv_rate_limiter.ts";
import { createApp } from "../../../edge/app.ts";

const [baseUrl, database, downloads] = Deno.args;

/** Opens the database, which is locked while another process creates it. */
async function openDatabase(): Promise<Deno.Kv> {
  for (;;) {
    try {
      return await Deno.openKv(database);
    } catch (error) {
      if (!String(error).includes("database is locked")) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const kv = await openDatabase();
const app = createApp({
  access: "public",
  apiKey: "sandbox",
  baseUrl: baseUrl!,
  cacheTtl: 0, // the downloads have the same URL
  maxDownloadsPerClient: Infinity,
  rateLimiter: createKvRateLimiter(kv),
});
const lines = await Promise.all(
  Array.from({ length: Number(downloads) }, async () => {
    const response = await app.request("/Locations.csv?$select=Id,Name");
    const text = await response.text();
    return response.ok ? text.trim().split("\n").length : text;
  }),
);
console.log(JSON.stringify(lines));
