/**
 * Measures downloads of all columns from the edge app in workerd: memory with concurrent readers that stop,
 * read at full speed or leave, and CPU time per page. Usage: `worker_bench.ts [FOLDER]`, with the folder of
 * another checkout to compare with, which must be installed.
 */
import { toCapnp } from "../e2e/servers/capnp.ts";
import { PROJECT } from "../helpers/project.ts";
import { runProgram } from "../helpers/programs.ts";
import { workerd } from "../helpers/runtime_programs.ts";
import { waitFor } from "../helpers/wait_for.ts";
import { cpuTime } from "./cpu_time.ts";
import { Inspector } from "./inspector.ts";
import { median } from "./measurement.ts";
import { peakMemory } from "./peak_memory.ts";
import { baseUrlOf, type ServerProcess, startSandbox } from "./processes.ts";

const PAGE_ROWS = 10_000;
/** Rows of each download for the memory, and for the CPU time. */
const RECORDS = 30_000;
const CPU_RECORDS = 100_000;
const ROUNDS = 5;
/** Number of readers of each kind. */
const READERS = 50;
/** Number of bytes after which a reader stops or leaves. */
const STOP_AFTER = 100_000;
const READER_TIMEOUT = 5_000;
const PATH = "/Records.csv";

/** A workerd process that serves the app of a checkout. */
interface Worker extends AsyncDisposable {
  pid: number;
  port: number;
  inspector: Inspector;
}

async function startWorker(folder: string, service: ServerProcess): Promise<Worker> {
  const module = "tests/e2e/servers/app.ts";
  const bundled = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", module],
    cwd: folder,
  }).output();
  if (!bundled.success) throw new Error(new TextDecoder().decode(bundled.stderr));
  const options = {
    access: "public",
    apiKey: "sandbox",
    baseUrl: baseUrlOf(service),
    requestsPerSecond: 1_000_000,
    maxDownloads: 3 * READERS,
    readerTimeout: READER_TIMEOUT,
  };
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  const temporary = await Deno.makeTempDir({ prefix: "weir-worker-" });
  await Deno.writeFile(`${temporary}/app.js`, bundled.stdout);
  await Deno.writeTextFile(
    `${temporary}/app.capnp`,
    toCapnp(wrangler, { WEIR_TEST_OPTIONS: JSON.stringify(options) }),
  );
  const child = new Deno.Command(workerd!, {
    args: ["serve", "--control-fd=1", "--inspector-addr=127.0.0.1:0", "app.capnp"],
    cwd: temporary,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let printed = "";
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  const portOf = (event: string) =>
    waitFor(
      () =>
        printed.split("\n").find((line) => line.includes(`"${event}"`))?.match(/"port":(\d+)/)?.[1],
      event,
    );
  const inspector = await Inspector.connect(Number(await portOf("listen-inspector")));
  return {
    pid: child.pid,
    port: Number(await portOf("listen")),
    inspector,
    async [Symbol.asyncDispose]() {
      inspector.close();
      child.kill("SIGKILL");
      await Promise.all([child.status, reading]);
      await Deno.remove(temporary, { recursive: true });
    },
  };
}

/** Requests a download over a connection of its own. */
async function connect(port: number, path: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  return connection;
}

const END = "\r\n0\r\n\r\n";

/** Reads a response. Returns whether its end was reached. */
async function read(connection: Deno.TcpConn, maxBytes = Infinity): Promise<boolean> {
  const buffer = new Uint8Array(1 << 18);
  const decoder = new TextDecoder();
  for (let bytes = 0, end = ""; bytes < maxBytes;) {
    const count = await connection.read(buffer).catch(() => null);
    if (count === null) return false;
    bytes += count;
    end = (end + decoder.decode(buffer.subarray(Math.max(0, count - END.length), count)))
      .slice(-END.length);
    if (end === END) return true;
  }
  return false;
}

interface Memory {
  /** Peak of heap, embedder heap and buffers above the idle worker (bytes). */
  heap: number;
  /** Peak of resident memory (bytes). */
  resident: number;
  complete: number;
  seconds: number;
}

const formatMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

/** Measures the memory of concurrent readers. */
async function measureMemory(
  folder: string,
  kinds: { stopped?: number; fast?: number; leaving?: number },
): Promise<Memory> {
  await using service = await startSandbox(RECORDS, Infinity);
  await using worker = await startWorker(folder, service);
  const { port, inspector } = worker;
  const warmUp = await connect(port, `${PATH}?limit=${PAGE_ROWS}`);
  await read(warmUp);
  warmUp.close();
  await inspector.collectGarbage();
  const idle = await inspector.heapUsage();
  let heap = 0;
  let isRunning = true;
  const polling = (async () => {
    while (isRunning) {
      heap = Math.max(heap, await inspector.heapUsage() - idle);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const started = performance.now();
  const open: Deno.TcpConn[] = [];
  const openAll = (count = 0) =>
    Promise.all(Array.from({ length: count }, () => connect(port, PATH)));
  const stopped = await openAll(kinds.stopped);
  open.push(...stopped);
  await Promise.all(stopped.map((connection) => read(connection, STOP_AFTER)));
  const fast = await openAll(kinds.fast);
  const leaving = await openAll(kinds.leaving);
  open.push(...fast);
  const leave = async (connection: Deno.TcpConn) => {
    await read(connection, STOP_AFTER);
    connection.close();
  };
  const results = await Promise.all([
    ...fast.map((connection) => read(connection)),
    ...leaving.map((connection) => leave(connection).then(() => false)),
  ]);
  if (kinds.fast === undefined) await new Promise((resolve) => setTimeout(resolve, 3_000));
  const seconds = (performance.now() - started) / 1000;
  console.log("used/embedder/backing", inspector.detail);
  isRunning = false;
  await polling;
  for (const connection of open) connection.close();
  const complete = results.filter(Boolean).length;
  return { heap, resident: peakMemory(worker.pid), complete, seconds };
}

/** Measures the CPU time (ms) per page of one reader, alternately in each checkout. */
async function measureCpu(folders: readonly string[]): Promise<number[][]> {
  await using service = await startSandbox(CPU_RECORDS, Infinity);
  await using workers = new AsyncDisposableStack();
  const started = [];
  for (const folder of folders) started.push(workers.use(await startWorker(folder, service)));
  const times: number[][] = folders.map(() => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, { pid, port }] of started.entries()) {
      const before = cpuTime(pid);
      const connection = await connect(port, PATH);
      if (!await read(connection)) throw new Error("The download is incomplete");
      connection.close();
      if (round >= 0) times[index]!.push((cpuTime(pid) - before) * PAGE_ROWS / CPU_RECORDS);
    }
  }
  return times;
}

const what = Deno.args[0];
const folders = [PROJECT, ...Deno.args.slice(1)];
if (what === "cpu") {
  const times = await measureCpu(folders);
  folders.forEach((folder, index) => {
    console.log(
      folder,
      "ms per page",
      times[index]!.map((t) => t.toFixed(0)).join(" "),
      "median",
      median(times[index]!).toFixed(0),
    );
  });
} else {
  for (
    const kinds of [
      { fast: READERS },
      { stopped: READERS },
      { stopped: READERS, fast: READERS, leaving: READERS },
    ]
  ) {
    for (const folder of folders) {
      const { heap, resident, complete, seconds } = await measureMemory(folder, kinds);
      console.log(
        folder,
        JSON.stringify(kinds),
        `heap ${formatMegabytes(heap)}, resident ${
          formatMegabytes(resident)
        }, ${complete} complete, ${seconds.toFixed(1)} s`,
      );
    }
  }
}
void runProgram;
