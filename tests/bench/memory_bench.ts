// Measures the memory of `weir serve` while clients of different files read nothing, in Deno and Node, with the default
// limit. Arguments: names of runtimes and formats, and numbers of clients; default: all. Linux only.
import { connect, type Server } from "../e2e/servers/server.ts";
import { logProgress } from "./measurement.ts";
import { memoryOf, peakMemory, toMegabytes } from "./peak_memory.ts";
import { serverStarts, type StartEdge, startSandbox } from "./processes.ts";
import { alignColumns } from "./table.ts";

const RECORDS = 100_000;
const LIMIT = 64_000_000;
/** The server may need this, and twice the limit, in addition to an idle process. */
const OVERHEAD = 64_000_000;
const FORMATS = ["csv", "csv.gz", "parquet", "xlsx"] as const;
const CLIENTS = [0, 20, 60, 120] as const;
/** Time (s) for which the clients read nothing: slow ones are disconnected from 10 s on. */
const STALL = 30;
const TOKEN = "metrics-token-of-a-benchmark";

const chosen = <T extends string | number>(all: readonly T[]) => {
  const found = all.filter((value) => Deno.args.includes(String(value)));
  return found.length > 0 ? found : all;
};

/** Opens a download and reads its status only. */
async function stall(server: Server, format: string, index: number): Promise<Deno.TcpConn> {
  const connection = await connect(server);
  const query = `$filter=LocationId%20ne%20${index}`;
  const request = `GET /Records.${format}?${query} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  connection.read(new Uint8Array(15)).catch(() => {});
  return connection;
}

/** Returns the bytes that the server counts, in a message of `/metrics`. */
async function countedBytes({ root }: Server): Promise<number> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const text = await (await fetch(`${root}/metrics`, { headers })).text();
  return [...text.matchAll(/^weir_page_cache_bytes\{.*\} (.*)$/gm)]
    .reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

async function measure(start: StartEdge, format: string, clients: number): Promise<string[]> {
  await using service = await startSandbox(RECORDS, Infinity);
  await using server = await start(service, {});
  await (await fetch(`${server.root}/Records.${format}?limit=1`)).bytes();
  const idle = memoryOf(server.pid, "VmRSS");
  const connections = await Promise.all(
    Array.from({ length: clients }, (_, index) => stall(server, format, index + 1)),
  );
  let counted = 0;
  for (let second = 0; second < (clients > 0 ? STALL : 0); second++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    counted = Math.max(counted, await countedBytes(server));
  }
  const resident = memoryOf(server.pid, "VmRSS");
  const peak = peakMemory(server.pid);
  for (const connection of connections) connection.close();
  const isKept = peak - idle <= OVERHEAD + 2 * LIMIT;
  return [
    ...[counted, idle, resident, peak, peak - idle].map(toMegabytes),
    isKept ? "yes" : "no",
  ];
}

const rows: string[][] = [];
for (
  const [name, start] of await serverStarts({
    WEIR_METRICS_TOKEN: TOKEN,
    WEIR_REQUESTS_PER_SECOND: "1000000",
  })
) {
  if (!chosen(["Deno", "Node"]).includes(name)) continue;
  for (const format of chosen(FORMATS)) {
    for (const clients of chosen(CLIENTS)) {
      logProgress(`${name}, ${format}, ${clients} clients`);
      rows.push([name, format, String(clients), ...await measure(start, format, clients)]);
    }
  }
}
const bound = `at most ${toMegabytes(OVERHEAD + 2 * LIMIT)} above idle`;
console.log(`Limit: ${toMegabytes(LIMIT)} counted, and ${bound}`);
console.log(alignColumns([
  ["runtime", "format", "clients", "counted", "idle", "resident", "peak", "above idle", "kept"],
  ...rows,
]));
