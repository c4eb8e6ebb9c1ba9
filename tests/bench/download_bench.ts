/**
 * Figures of whole downloads: the edge app over the sandbox behind a real socket, read by curl. The
 * memory is the whole server's, sandbox included.
 */
import process from "node:process";
import { createApp } from "../../edge/app.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

const runs: [name: string, records: number, requestsPerSecond: number][] = [
  ["as the demo, 2 requests a second", 40_000, 2],
  ["no limit", 40_000, Infinity],
  ["no limit, ten times the rows", 400_000, Infinity],
];

for (const [name, records, requestsPerSecond] of runs) {
  const sandbox = createSandbox({ records, requestsPerSecond });
  const app = createApp({
    access: "public",
    apiKey: sandbox.apiKey,
    // An address of its own: of one that was asked slowly, the pace stays slow for a minute.
    baseUrl: `https://${records}-at-${requestsPerSecond}.invalid/v1/odata/v4`,
    fetch: sandbox.fetch,
    requestsPerSecond,
  });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
  const url = `http://127.0.0.1:${server.addr.port}/Records.csv`;
  const started = performance.now();
  const args = ["--fail", "--silent", "--show-error", "--output", "/dev/null", url];
  const { success } = await new Deno.Command("curl", { args, stderr: "inherit" }).output();
  const seconds = (performance.now() - started) / 1000;
  await server.shutdown();
  if (!success) throw new Error(`the download broke: ${name}`);
  const { rows, requests, tooFast, parallel } = sandbox.stats;
  console.log(
    `${name}: ${rows} rows in ${seconds.toFixed(1)} s by ${requests} requests ` +
      `(${tooFast + parallel} turned away), peak memory of the server ${peakMemory()}`,
  );
}

/** The most memory that this process has held so far. */
function peakMemory(): string {
  return `${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`;
}
