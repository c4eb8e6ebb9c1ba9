// Serves the sandbox on loopback, prints its URL, and serves request counts at `/stats`. Arguments:
// number of records, requests per second.
import process from "node:process";
import { createSandbox } from "../../src/sandbox/service.ts";
import { RecordedRows } from "./recorded_rows.ts";

const [records, requestsPerSecond] = process.argv.slice(2).map(Number) as [number, number];
const sandbox = createSandbox({ records, requestsPerSecond });
const recorded = requestsPerSecond === Infinity ? await RecordedRows.create(records) : undefined;
let requests = 0;
let last: number | undefined;
let largestGap = 0;

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  if (new URL(request.url).pathname === "/stats") {
    return Response.json({ ...sandbox.stats, requests, largestGap });
  }
  requests++;
  const now = performance.now();
  largestGap = Math.max(largestGap, now - (last ?? now));
  last = now;
  return recorded?.respond(request) ?? sandbox.fetch(request);
});
console.error(`http://127.0.0.1:${server.addr.port}`);
