/**
 * Measures the memory of the published server in workerd with 50 concurrent downloads: heap and buffers above those of
 * the idle server, with and without a cache, and with compressed responses of the service. Needs the npm package
 * `@cloudflare/workerd-linux-64`.
 *
 * V8 has the heap limit of a Worker. A second measurement collects garbage each time, so it has only what is in use.
 */
import { bundleAsPublished } from "../e2e/servers/bundle.ts";
import { toCapnp } from "../e2e/servers/capnp.ts";
import { workerd } from "../e2e/runtime_programs.ts";
import { waitFor } from "../e2e/wait_for.ts";
import { PROJECT } from "../helpers/project.ts";
import { logProgress } from "./measurement.ts";
import { baseUrlOf, type ServerProcess, startSandbox } from "./processes.ts";
import { alignColumns } from "./table.ts";

const DOWNLOADS = 50;
/** Rows of each download: three pages. */
const RECORDS = 30_000;
/** Interval (ms) of measurements, without and with garbage collection. */
const INTERVALS = { all: 20, inUse: 200 };

interface Worker extends AsyncDisposable {
  root: string;
  inspector: Inspector;
}

async function startWorker(
  service: ServerProcess,
  environment: Record<string, string>,
): Promise<Worker> {
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  const config = toCapnp(wrangler, {
    DATASTREAM_API_KEY: "sandbox",
    DATASTREAM_BASE_URL: baseUrlOf(service),
    WEIR_ACCESS: "public",
    WEIR_LOG: "errors",
    WEIR_REQUESTS_PER_SECOND: "1000000",
    ...environment,
  });
  const cwd = await Deno.makeTempDir({ prefix: "weir-worker-" });
  await Deno.writeTextFile(`${cwd}/app.js`, await bundleAsPublished("worker.js"));
  const flags = 'v8Flags = ["--max-heap-size=128"],\n  services = [';
  await Deno.writeTextFile(`${cwd}/app.capnp`, config.replace("services = [", flags));
  const child = new Deno.Command(workerd!, {
    args: ["serve", "--control-fd=1", "--inspector-addr=127.0.0.1:0", "app.capnp"],
    cwd,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let printed = "";
  const reading = (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  const portOf = (event: string) =>
    waitFor(() => new RegExp(`"${event}".*"port":(\\d+)`).exec(printed)?.[1], `event ${event}`);
  const inspector = await Inspector.connect(await portOf("listen-inspector"));
  return {
    root: `http://127.0.0.1:${await portOf("listen")}`,
    inspector,
    async [Symbol.asyncDispose]() {
      inspector.close();
      child.kill("SIGKILL");
      await Promise.all([child.status, reading]);
      await Deno.remove(cwd, { recursive: true });
    },
  };
}

/** Connection to the inspector of workerd (Chrome DevTools Protocol). */
class Inspector {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (result: Record<string, number>) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      this.#pending.get(id)?.(result);
      this.#pending.delete(id);
    };
  }

  static async connect(port: string): Promise<Inspector> {
    // The list is empty until the worker is loaded.
    const list = async () => await (await fetch(`http://127.0.0.1:${port}/json`)).json();
    const { id } = await waitFor(async () => (await list())[0], "the worker in the inspector");
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${id}`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return new Inspector(socket);
  }

  /** Returns bytes of the heap, of objects of the runtime and of buffers. */
  async usage(): Promise<number> {
    const usage = await this.#call("Runtime.getHeapUsage");
    return usage.usedSize! + usage.embedderHeapUsedSize! + usage.backingStorageSize!;
  }

  /** By a heap snapshot, because workerd never responds to `HeapProfiler.collectGarbage`. */
  async collectGarbage(): Promise<void> {
    await this.#call("HeapProfiler.enable");
    await this.#call("HeapProfiler.takeHeapSnapshot");
    await this.#call("HeapProfiler.disable");
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string): Promise<Record<string, number>> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}

/** Reads a download, again after status 503, which says that the server is busy. */
async function read(url: string): Promise<boolean> {
  for (;;) {
    const response = await fetch(url);
    let lines = 0;
    for await (const chunk of response.body!) for (const byte of chunk) if (byte === 10) lines++;
    if (response.status !== 503) return response.ok && lines === RECORDS + 1;
  }
}

interface Variant {
  name: string;
  environment: Record<string, string>;
  query: (index: number) => string;
}

const same = () => "";
/** The service returns the same rows for each filter. */
const different = (index: number) => `?$filter=LocationId%20gt%20${index}`;
const NO_CACHE = { WEIR_CACHE_TTL: "0" };
const VARIANTS: readonly Variant[] = [
  { name: "one document, no cache", environment: NO_CACHE, query: same },
  {
    name: `one document, no cache, ${DOWNLOADS} at a time`,
    environment: { ...NO_CACHE, WEIR_MAX_DOWNLOADS: `${DOWNLOADS}` },
    query: same,
  },
  { name: "one document, cache", environment: {}, query: same },
  { name: "different documents, cache", environment: {}, query: different },
];

/** Returns the highest memory above that of the idle server, in MB. */
async function measure(
  { environment, query }: Variant,
  isCompressed: boolean,
  collects: boolean,
): Promise<string> {
  await using service = await startSandbox(RECORDS, Infinity, 0, isCompressed);
  await using worker = await startWorker(service, environment);
  const { root, inspector } = worker;
  await (await fetch(`${root}/Records.csv?limit=10000`)).text();
  await inspector.collectGarbage();
  const idle = await inspector.usage();
  let peak = idle;
  let isRunning = true;
  const watching = (async () => {
    while (isRunning) {
      if (collects) await inspector.collectGarbage();
      peak = Math.max(peak, await inspector.usage());
      const interval = collects ? INTERVALS.inUse : INTERVALS.all;
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
  })();
  const downloads = Array.from(
    { length: DOWNLOADS },
    (_, index) => read(`${root}/Records.csv${query(index)}`),
  );
  const complete = (await Promise.all(downloads)).filter((isComplete) => isComplete).length;
  isRunning = false;
  await watching;
  if (complete < DOWNLOADS) logProgress(`  only ${complete} downloads are complete`);
  return ((peak - idle) / 1e6).toFixed(0);
}

if (workerd === undefined) throw new Error("Install @cloudflare/workerd-linux-64");
const rows = [[`${DOWNLOADS} downloads in workerd`, "heap and buffers (MB)", "in use (MB)"]];
for (const isCompressed of [false, true]) {
  for (const variant of VARIANTS) {
    const name = variant.name + (isCompressed ? ", compressed responses" : "");
    logProgress(name);
    const all = await measure(variant, isCompressed, false);
    rows.push([name, all, await measure(variant, isCompressed, true)]);
  }
}
console.log(alignColumns(rows));
