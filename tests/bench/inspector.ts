import { waitFor } from "../helpers/wait_for.ts";

/** Connection to the inspector of a workerd process (Chrome DevTools Protocol). */
export class Inspector {
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

  /** Connects to the only worker of a process. */
  static async connect(port: number): Promise<Inspector> {
    const target = await waitFor(
      async () => (await (await fetch(`http://127.0.0.1:${port}/json`)).json())[0],
      "the worker in the inspector",
    );
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${target.id}`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return new Inspector(socket);
  }

  /** Calls a method of the protocol. */
  // deno-lint-ignore no-explicit-any
  send(method: string, params: object = {}): Promise<any> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Returns the size of heap, embedder heap and buffers (bytes). */
  async heapUsage(): Promise<number> {
    const usage = await this.send("Runtime.getHeapUsage");
    const { usedSize, embedderHeapUsedSize, backingStorageSize } = usage;
    return usedSize + embedderHeapUsedSize + backingStorageSize;
  }

  /** Collects garbage: a heap snapshot does. `HeapProfiler.collectGarbage` never responds. */
  async collectGarbage(): Promise<void> {
    await this.send("HeapProfiler.enable");
    await this.send("HeapProfiler.takeHeapSnapshot");
    await this.send("HeapProfiler.disable");
  }

  close(): void {
    this.#socket.close();
  }
}
