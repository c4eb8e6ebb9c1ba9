import { waitFor } from "../helpers/wait_for.ts";

/** Result of a method of the protocol. */
type Result = Readonly<Record<string, number>>;

/** Connection to the inspector of a workerd process (Chrome DevTools Protocol). */
export class WorkerInspector {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (result: Result) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      this.#pending.get(id)?.(result);
      this.#pending.delete(id);
    };
  }

  /** Connects to the only worker of a process. */
  static async connect(port: number): Promise<WorkerInspector> {
    // The list is empty until the worker has been loaded.
    const { id } = await waitFor(
      async () => (await (await fetch(`http://127.0.0.1:${port}/json`)).json())[0],
      "the worker in the inspector",
    );
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${id}`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return new WorkerInspector(socket);
  }

  /** Returns the size (bytes) of the heap, of objects of the runtime and of buffers. */
  async heapUsage(): Promise<number> {
    const usage = await this.#call("Runtime.getHeapUsage");
    return usage.usedSize! + usage.embedderHeapUsedSize! + usage.backingStorageSize!;
  }

  /** Collects garbage, by a heap snapshot: workerd never responds to `HeapProfiler.collectGarbage`. */
  async collectGarbage(): Promise<void> {
    await this.#call("HeapProfiler.enable");
    await this.#call("HeapProfiler.takeHeapSnapshot");
    await this.#call("HeapProfiler.disable");
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
