/** An HTTP proxy on loopback. */
export class Proxy implements AsyncDisposable {
  /** Number of the received requests. */
  requests = 0;
  readonly url: string;
  readonly #listener: Deno.TcpListener;
  readonly #done: Promise<void>;

  constructor() {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.url = `http://127.0.0.1:${this.#listener.addr.port}`;
    this.#done = this.#serve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#done;
  }

  async #serve(): Promise<void> {
    const tunnels: Promise<void>[] = [];
    try {
      for await (const connection of this.#listener) tunnels.push(this.#tunnel(connection));
    } finally {
      await Promise.all(tunnels);
    }
  }

  async #tunnel(connection: Deno.TcpConn): Promise<void> {
    const bytes = new Uint8Array(65_536);
    const length = await connection.read(bytes) ?? 0;
    const [line = ""] = new TextDecoder().decode(bytes.subarray(0, length)).split("\r\n");
    this.requests++;
    const [, target = ""] = line.split(" ");
    const isConnect = line.startsWith("CONNECT ");
    const { hostname, port } = new URL(isConnect ? `http://${target}` : target);
    const upstream = await Deno.connect({ hostname, port: Number(port) });
    if (isConnect) await connection.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    else await upstream.write(bytes.subarray(0, length));
    const pipes = [
      connection.readable.pipeTo(upstream.writable),
      upstream.readable.pipeTo(connection.writable),
    ];
    // Each side may close the connection.
    await Promise.allSettled(pipes);
  }
}
