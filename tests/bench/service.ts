/**
 * The service of the benches, in a process of its own: the sandbox behind a socket, its address on
 * standard error, what it has seen under `/stats`. Arguments: records, requests a second.
 */
import process from "node:process";
import { createSandbox } from "../../src/sandbox/service.ts";
import { WrittenRecords } from "./written_records.ts";

const [records, requestsPerSecond] = process.argv.slice(2).map(Number) as [number, number];
const sandbox = createSandbox({ records, requestsPerSecond });
const written = requestsPerSecond === Infinity ? await WrittenRecords.write(records) : undefined;
let requests = 0;

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
  if (new URL(request.url).pathname === "/stats") {
    const { tooFast, parallel } = sandbox.stats;
    return Response.json({ requests, violations: tooFast + parallel });
  }
  requests++;
  return written?.answer(request) ?? sandbox.fetch(request);
});
console.error(`http://127.0.0.1:${server.addr.port}`);
