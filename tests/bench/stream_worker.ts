// Downloads of all columns from the edge app in workerd, for the suite `stream`.
import { toCapnp } from "../e2e/servers/capnp.ts";
import { PROJECT } from "../helpers/project.ts";
import { workerd } from "../helpers/runtime_programs.ts";
import { waitFor } from "../helpers/wait_for.ts";
import { Inspector } from "./inspector.ts";
import { peakMemory } from "./peak_memory.ts";

/** Number of bytes after which a reader stops or leaves. */
const STOP_AFTER = 100_000;
/** Time (ms) after which the app disconnects a stopped reader. */
const READER_TIMEOUT = 5_000;
/** Time (ms) for which stopped readers are watched. */
const STOP_TIME = 3_000;
const PATH = "/Records.csv";
/** End of a chunked response. */
const END = "\r\n0\r\n\r\n";

/** Numbers of concurrent readers: those that stop, read to the end, or leave. */
export interface Readers {
  stopped: number;
  fast: number;
  leaving: number;
}

/** Peaks (MB) of a Worker, above those of the idle Worker. */
export interface WorkerMemory {
  /** Heap, embedder heap and buffers. */
  heap: number;
  /** Resident memory of the process, with that of the idle Worker. */
  resident: number;
}

/** A workerd process that serves the app of a checkout. */
export interface WorkerProcess extends AsyncDisposable {
  pid: number;
  inspector: Inspector;
  /** Requests a download over a connection of its own. */
  open(path?: string): Promise<Deno.TcpConn>;
}

/**
 * Starts the app of a checkout in workerd.
 *
 * @param checkout Folder of the checkout
 * @param baseUrl Base URL of the service
 * @param downloads Maximum number of concurrent downloads
 */
export async function startWorker(
  checkout: string,
  baseUrl: string,
  downloads: number,
): Promise<WorkerProcess> {
  const folder = await Deno.makeTempDir({ prefix: "weir-worker-" });
  const bundled = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform", "browser", "--output", `${folder}/app.js`],
      "tests/e2e/servers/app.ts",
    ],
    cwd: checkout,
  }).output();
  if (!bundled.success) throw new Error(new TextDecoder().decode(bundled.stderr));
  const options = {
    access: "public",
    apiKey: "benchmark",
    baseUrl,
    requestsPerSecond: 1_000_000,
    maxDownloads: downloads,
    readerTimeout: READER_TIMEOUT,
  };
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  const environment = { WEIR_TEST_OPTIONS: JSON.stringify(options) };
  await Deno.writeTextFile(`${folder}/app.capnp`, toCapnp(wrangler, environment));
  const child = new Deno.Command(workerd!, {
    args: ["serve", "--control-fd=1", "--inspector-addr=127.0.0.1:0", "app.capnp"],
    cwd: folder,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let printed = "";
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  const portOf = async (event: string) => {
    const line = () => printed.split("\n").find((line) => line.includes(`"${event}"`));
    return Number(await waitFor(() => /"port":(\d+)/.exec(line() ?? "")?.[1], event));
  };
  const inspector = await Inspector.connect(await portOf("listen-inspector"));
  const port = await portOf("listen");
  return {
    pid: child.pid,
    inspector,
    async open(path = PATH) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
      await connection.write(new TextEncoder().encode(head));
      return connection;
    },
    async [Symbol.asyncDispose]() {
      inspector.close();
      child.kill("SIGKILL");
      await Promise.all([child.status, reading]);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/**
 * Reads a response.
 *
 * @param maxBytes Number of bytes after which to stop
 * @returns Whether the end was reached
 */
export async function readResponse(
  connection: Deno.TcpConn,
  maxBytes = Infinity,
): Promise<boolean> {
  const buffer = new Uint8Array(1 << 18);
  const decoder = new TextDecoder();
  for (let bytes = 0, end = ""; bytes < maxBytes;) {
    const count = await connection.read(buffer).catch(() => null);
    if (count === null) return false;
    bytes += count;
    const last = buffer.subarray(Math.max(0, count - END.length), count);
    end = (end + decoder.decode(last)).slice(-END.length);
    if (end === END) return true;
  }
  return false;
}

/** Measures the memory of concurrent readers. The fast ones must reach the end. */
export async function measureReaders(
  worker: WorkerProcess,
  { stopped, fast, leaving }: Readers,
): Promise<WorkerMemory> {
  const { inspector, pid } = worker;
  await readResponse(await worker.open(`${PATH}?limit=10000`)); // warm-up
  await inspector.collectGarbage();
  const idle = await inspector.heapUsage();
  let heap = 0;
  let isRunning = true;
  const watching = (async () => {
    while (isRunning) {
      heap = Math.max(heap, await inspector.heapUsage() - idle);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => worker.open()));
  const stoppedReaders = await open(stopped);
  await Promise.all(stoppedReaders.map((connection) => readResponse(connection, STOP_AFTER)));
  const fastReaders = await open(fast);
  const leavingReaders = await open(leaving);
  const [results] = await Promise.all([
    Promise.all(fastReaders.map((connection) => readResponse(connection))),
    ...leavingReaders.map(async (connection) => {
      await readResponse(connection, STOP_AFTER);
      connection.close();
    }),
  ]);
  if (fast === 0) await new Promise((resolve) => setTimeout(resolve, STOP_TIME));
  isRunning = false;
  await watching;
  for (const connection of [...stoppedReaders, ...fastReaders]) connection.close();
  if (!results.every(Boolean)) throw new Error("A download is incomplete");
  return { heap: heap / 1e6, resident: peakMemory(pid) / 1e6 };
}
