// Downloads the locations three times at once with a rate limiter in Deno KV, and prints the number of rows of each
// download as JSON. Arguments: URL of the service, file of the database.
import { createKvRateLimiter } from "../../../edge/server/deno/kv_rate_limiter.ts";
import { DataStream } from "../../../mod.ts";

const [baseUrl, database] = Deno.args;

const rateLimiter = createKvRateLimiter(await Deno.openKv(database));
const client = new DataStream({ apiKey: "sandbox", baseUrl, rateLimiter });
const downloads = await Promise.all([1, 2, 3].map(() => client.locations().toArray()));
console.log(JSON.stringify(downloads.map(({ length }) => length)));
Deno.exit(); // the database would keep the process running
