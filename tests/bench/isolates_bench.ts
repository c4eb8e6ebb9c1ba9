// Counts how often four isolates exceed the limits of the service with a rate limiter each, and
// with one in a Durable Object. Needs `@cloudflare/workerd-linux-64`. The sandbox is in another
// process.
import { workerd } from "../e2e/runtime_programs.ts";
import type { ObjectUse } from "../e2e/servers/cloudflare_worker.ts";
import {
  createStorage,
  type Isolates,
  sendToObject,
  startIsolates,
} from "../e2e/servers/isolates.ts";
import { logProgress } from "./measurement.ts";
import { baseUrlOf, type ServiceStats, startSandbox, statsOf } from "./processes.ts";
import { alignColumns } from "./table.ts";

const ISOLATES = 4;
const DOWNLOADS_PER_ISOLATE = 3;
/** Rows of each download: four pages. */
const RECORDS = 40_000;
/** Time (ms) before the service responds. */
const LATENCY = 100;
const API_KEY = "sandbox";
const PATH = "/Records.csv?$select=Id,ResultValue";

interface Result extends ServiceStats {
  messages: number;
  complete: number;
  seconds: number;
}

/** @param storage Folder of the Durable Object; `undefined` for a rate limiter in each isolate */
async function measure(storage?: string): Promise<Result> {
  await using service = await startSandbox(RECORDS, 2, LATENCY);
  await using isolates = await startIsolates({
    environment: {
      DATASTREAM_API_KEY: API_KEY,
      DATASTREAM_BASE_URL: baseUrlOf(service),
      WEIR_ACCESS: "public",
      WEIR_LOG: "errors",
      WEIR_MAX_DOWNLOADS_PER_CLIENT: `${DOWNLOADS_PER_ISOLATE}`,
      WEIR_CACHE_TTL: "0",
    },
    count: ISOLATES,
    ...(storage !== undefined && { storage }),
  });
  const started = performance.now();
  const complete = await countComplete(isolates);
  const seconds = (performance.now() - started) / 1000;
  const { messages }: Pick<ObjectUse, "messages"> = storage === undefined
    ? { messages: {} }
    : await (await sendToObject(isolates, "/use", service.root, API_KEY)).json();
  const sent = Object.values(messages).reduce((sum, count) => sum + count, 0);
  return { ...await statsOf(service), messages: sent, complete, seconds };
}

async function countComplete({ roots }: Isolates): Promise<number> {
  const urls = roots.flatMap((root) => Array(DOWNLOADS_PER_ISOLATE).fill(root + PATH));
  const results = await Promise.all(urls.map(async (url) => {
    try {
      const response = await fetch(url);
      const text = await response.text();
      if (!response.ok) logProgress(`  status ${response.status}: ${text}`);
      return response.ok && text.split("\r\n").length === RECORDS + 2;
    } catch {
      return false; // the connection was closed before the end
    }
  }));
  return results.filter((isComplete) => isComplete).length;
}

if (workerd === undefined) throw new Error("Install @cloudflare/workerd-linux-64");
logProgress("a rate limiter in each isolate");
const separate = await measure();
logProgress("a rate limiter in a Durable Object");
await using storage = await createStorage();
const shared = await measure(storage.path);
const row = (name: string, value: (result: Result) => number, digits = 0) => [
  name,
  ...[separate, shared].map((result) => value(result).toFixed(digits)),
];
console.log(alignColumns([
  ["four isolates, twelve downloads", "a limiter in each isolate", "a Durable Object"],
  row("requests to the service", ({ requests }) => requests),
  row("early starts", ({ early }) => early),
  row("overlapping requests", ({ overlapping }) => overlapping),
  row("responses with status 429", ({ tooMany }) => tooMany),
  row("complete downloads", ({ complete }) => complete),
  row("time (s)", ({ seconds }) => seconds, 1),
  row("messages to the object per request", ({ messages, requests }) => messages / requests, 1),
]));
