// Downloads the locations three times at once with a rate limiter in Deno KV, and prints the number of rows of each
// download as JSON. Arguments: URL of the service, file of the database.
import { createKvRateLimiter } from "../../../edge/deno/kv_rate_limiter.ts";
import { DataStream } from "../../../mod.ts";

const [baseUrl, database] = Deno.args;

/** Opens the database, which is locked while another process creates it. */
async function openDatabase(): Promise<Deno.Kv> {
  try {
    return await Deno.openKv(database);
  } catch (error) {
    if (!String(error).includes("database is locked")) throw error;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return await openDatabase();
  }
}

const rateLimiter = createKvRateLimiter(await openDatabase());
const client = new DataStream({ apiKey: "sandbox", baseUrl, rateLimiter });
const downloads = await Promise.all([1, 2, 3].map(() => client.locations().toArray()));
console.log(JSON.stringify(downloads.map(({ length }) => length)));
Deno.exit(); // the database would keep the process running
