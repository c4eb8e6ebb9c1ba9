/**
 * Measures downloads of all columns from the edge app in workerd. Needs the npm package
 * `@cloudflare/workerd-linux-64`.
 *
 * Prints the memory with readers that read at full speed, stop or leave, and the CPU time per 10,000 rows.
 * Memory is measured three times: with the limit of a Worker for the heap of V8, without a limit, when V8 collects
 * garbage later, and after garbage collection. This checkout is measured without a page cache, then with its cache
 * in memory, where all readers read the same pages.
 *
 * Argument: the folder of another checkout, which is measured in turns with this one.
 */
import { runBundle } from "../helpers/bundle.ts";
import { PROJECT } from "../helpers/project.ts";
import { workerd } from "../helpers/runtime_programs.ts";
import { waitFor } from "../helpers/wait_for.ts";
import { toCapnp } from "../e2e/servers/capnp.ts";
import { cpuTime } from "./cpu_time.ts";
import { median } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { WorkerInspector } from "./worker_inspector.ts";
import { baseUrlOf, type ServerProcess, startSandbox } from "./processes.ts";

/** Rows per download, to measure memory and CPU time. */
const RECORDS = { memory: 30_000, cpu: 100_000 };
/** Number of readers of each kind. */
const READERS = 50;
/** Number of bytes after which a reader stops or leaves. */
const STOP_AFTER = 100_000;
/** Time (ms) after which the app disconnects a reader that has stopped. */
const READER_TIMEOUT = 5_000;
/** Time (ms) for which readers that have stopped are watched. */
const WATCH_TIME = 3_000;
const CPU_ROUNDS = 9;
const PATH = "/Records.csv";
/** Bytes at the end of a complete response. */
const LAST_CHUNK = "\r\n0\r\n\r\n";

/** Numbers of readers. */
interface Readers {
  fast: number;
  stopped: number;
  leaving: number;
}

/** A workerd process that serves the app of a checkout. */
interface Worker extends AsyncDisposable {
  pid: number;
  port: number;
  inspector: WorkerInspector;
}

/** Flag that limits the heap of V8 (MB) as in a Worker. */
const HEAP_LIMIT = "--max-heap-size=128";

/** A checkout, and for how long its downloads share rows. */
interface Version {
  folder: string;
  /** Default: that of the checkout. */
  cacheTtl?: number;
}

async function startWorker(
  { folder, cacheTtl }: Version,
  service: ServerProcess,
  v8Flags: readonly string[] = [HEAP_LIMIT],
): Promise<Worker> {
  const options = {
    access: "public",
    apiKey: "sandbox",
    baseUrl: baseUrlOf(service),
    requestsPerSecond: 1_000_000, // JSON has no Infinity
    maxDownloads: 3 * READERS,
    ...(cacheTtl !== undefined && {
      cacheTtl,
      maxDownloadsPerClient: 3 * READERS,
      // All pages of the downloads whose CPU time is measured.
      maxCachedBytes: 128_000_000,
    }),
    readerTimeout: READER_TIMEOUT,
  };
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  const config = toCapnp(wrangler, { WEIR_TEST_OPTIONS: JSON.stringify(options) });
  const temporary = await Deno.makeTempDir({ prefix: "weir-worker-" });
  const app = await runBundle("tests/e2e/servers/app.ts", ["--platform", "browser"], folder);
  await Deno.writeTextFile(`${temporary}/app.js`, app);
  await Deno.writeTextFile(
    `${temporary}/app.capnp`,
    config.replace("services = [", `v8Flags = ${JSON.stringify(v8Flags)},\n  services = [`),
  );
  const child = new Deno.Command(workerd!, {
    args: ["serve", "--control-fd=1", "--inspector-addr=127.0.0.1:0", "app.capnp"],
    cwd: temporary,
    stdout: "piped",
    stderr: "null", // the stack of each download that the app aborts
  }).spawn();
  let printed = "";
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  const portOf = async (event: string) => {
    const pattern = new RegExp(`"${event}".*"port":(\\d+)`);
    return Number(await waitFor(() => pattern.exec(printed)?.[1], `the event ${event}`));
  };
  const inspector = await WorkerInspector.connect(await portOf("listen-inspector"));
  return {
    pid: child.pid,
    port: await portOf("listen"),
    inspector,
    async [Symbol.asyncDispose]() {
      inspector.close();
      child.kill("SIGKILL");
      await Promise.all([child.status, reading]);
      await Deno.remove(temporary, { recursive: true });
    },
  };
}

/** A download over a connection of its own. `fetch` would read ahead. */
class Download implements Disposable {
  readonly #connection: Deno.TcpConn;
  #end = "";
  #isClosed = false;

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  static async request(port: number, path: string): Promise<Download> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const request = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    return new Download(connection);
  }

  /** Reads a number of bytes, or all. Returns whether the response is complete. */
  async read(bytes = Infinity): Promise<boolean> {
    const buffer = new Uint8Array(1 << 18);
    for (let missing = bytes; missing > 0;) {
      const count = await this.#connection.read(buffer).catch(() => null);
      if (count === null) return false;
      missing -= count;
      const last = buffer.subarray(Math.max(0, count - LAST_CHUNK.length), count);
      this.#end = (this.#end + new TextDecoder().decode(last)).slice(-LAST_CHUNK.length);
      if (this.#end === LAST_CHUNK) return true;
    }
    return false;
  }

  [Symbol.dispose](): void {
    if (!this.#isClosed) this.#connection.close();
    this.#isClosed = true;
  }
}

/** Reads a whole download. */
async function readDownload(port: number, path: string): Promise<void> {
  using download = await Download.request(port, path);
  if (!await download.read()) throw new Error("The download is incomplete");
}

/** How to measure memory. */
interface MemoryMeasurement {
  name: string;
  v8Flags: readonly string[];
  /** Time (ms) between two measurements. */
  interval: number;
  /** Whether to collect garbage before each measurement. */
  collects: boolean;
}

const MEASUREMENTS: readonly MemoryMeasurement[] = [
  { name: "limit of 128 MB", v8Flags: [HEAP_LIMIT], interval: 20, collects: false },
  { name: "no limit", v8Flags: [], interval: 20, collects: false },
  { name: "after garbage collection", v8Flags: [HEAP_LIMIT], interval: 200, collects: true },
];

/** Measures the memory of a worker with concurrent readers. Returns the text of the result. */
async function measureMemory(
  version: Version,
  readers: Readers,
  { name, v8Flags, interval, collects }: MemoryMeasurement,
): Promise<string> {
  await using service = await startSandbox(RECORDS.memory, Infinity);
  await using worker = await startWorker(version, service, v8Flags);
  const { pid, port, inspector } = worker;
  await readDownload(port, `${PATH}?limit=10000`);
  await inspector.collectGarbage();
  const idle = await inspector.heapUsage();
  let peak = idle;
  let isRunning = true;
  const watching = (async () => {
    while (isRunning) {
      if (collects) await inspector.collectGarbage();
      peak = Math.max(peak, await inspector.heapUsage());
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
  })();
  await runReaders(port, readers);
  isRunning = false;
  await watching;
  const toMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  const resident = collects ? "" : ` (resident ${toMegabytes(peakMemory(pid))})`;
  return `${name} ${toMegabytes(peak - idle)}${resident}`;
}

/** Reads a download, again after status 503: readers that have stopped may use all room for 20 s. */
async function readPatiently(port: number): Promise<boolean> {
  for (let attempts = 0; attempts < 10; attempts++) {
    using download = await Download.request(port, PATH);
    if (await download.read()) return true;
  }
  return false;
}

/** Runs readers until those that read at full speed have their downloads. */
async function runReaders(port: number, readers: Readers): Promise<void> {
  using open = new DisposableStack();
  const request = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => open.use(await Download.request(port, PATH))),
    );
  const stopped = await request(readers.stopped);
  await Promise.all(stopped.map((download) => download.read(STOP_AFTER)));
  const others = await Promise.all([
    ...Array.from({ length: readers.fast }, () => readPatiently(port)),
    ...(await request(readers.leaving)).map(async (download) => {
      await download.read(STOP_AFTER);
      download[Symbol.dispose]();
      return false;
    }),
  ]);
  if (readers.fast === 0) await new Promise((resolve) => setTimeout(resolve, WATCH_TIME));
  const complete = others.filter((isComplete) => isComplete).length;
  if (complete < readers.fast) throw new Error(`Only ${complete} downloads are complete`);
}

/** Measures the CPU time (ms) per 10,000 rows of workers in turns: one list for each version. */
async function measureCpu(versions: readonly Version[], path: string): Promise<number[][]> {
  await using service = await startSandbox(RECORDS.cpu, Infinity);
  await using stack = new AsyncDisposableStack();
  const workers: Worker[] = [];
  for (const version of versions) workers.push(stack.use(await startWorker(version, service)));
  const times: number[][] = versions.map(() => []);
  for (let round = 0; round <= CPU_ROUNDS; round++) {
    for (const [index, { pid, port }] of workers.entries()) {
      const before = cpuTime(pid);
      await readDownload(port, path);
      // The first round warms up.
      if (round > 0) times[index]!.push((cpuTime(pid) - before) * 10_000 / RECORDS.cpu);
    }
  }
  return times;
}

if (workerd === undefined) throw new Error("Install @cloudflare/workerd-linux-64");
const versions: Version[] = [
  { folder: PROJECT, cacheTtl: 0 },
  { folder: PROJECT, cacheTtl: 300_000 },
  ...Deno.args.map((folder) => ({ folder })),
];
const describe = ({ folder, cacheTtl }: Version) =>
  cacheTtl === undefined ? folder : `${folder}, cacheTtl ${cacheTtl}`;
const kinds: Readers[] = [
  { fast: READERS, stopped: 0, leaving: 0 },
  { fast: 0, stopped: READERS, leaving: 0 },
  { fast: READERS, stopped: READERS, leaving: READERS },
];
for (const readers of kinds) {
  const { fast, stopped, leaving } = readers;
  console.log(`${fast} fast readers, ${stopped} stopped, ${leaving} leaving`);
  for (const version of versions) {
    const texts: string[] = [];
    for (const how of MEASUREMENTS) texts.push(await measureMemory(version, readers, how));
    console.log(`  ${describe(version)}: heap and buffers above idle: ${texts.join(", ")}`);
  }
}
for (const [name, path] of [["10,000", PATH], ["2,000", `${PATH}?$top=2000`]] as const) {
  console.log(`CPU time of 10,000 rows, pages of ${name}`);
  const times = await measureCpu(versions, path);
  for (const [index, version] of versions.entries()) {
    const ratios = times[index]!.map((time, round) => time / times[0]![round]!);
    const ratio = index === 0 ? "" : `, ${median(ratios).toFixed(2)} times`;
    console.log(`  ${describe(version)}: median ${median(times[index]!).toFixed(0)} ms${ratio}`);
  }
}
