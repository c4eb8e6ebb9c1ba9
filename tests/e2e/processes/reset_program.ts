// Reads sixty rows from the service at the given root URL; prints the number of requests it counted.
import { DataStream } from "../../../mod.ts";

let counted = 0;
const client = new DataStream({
  baseUrl: Deno.args[0],
  requestsPerSecond: 20,
  retry: { backoff: 5 },
});
await client.locations({ top: 25, onProgress: ({ requests }) => counted = requests }).toArray();
console.log(counted);
