import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { LOOPBACK_CERTIFICATE } from "./loopback_certificate.ts";

export interface ResettingServer extends AsyncDisposable {
  origin: string;
  /** Path and query of all requests in the order of arrival, including those without a response. */
  readonly received: readonly string[];
}

/**
 * Serves HTTP/1.1 on loopback and resets a connection when a second request arrives on it. Some
 * runtimes then repeat the request themselves.
 *
 * @param handle Responds to the first request of each connection; called without request headers
 * @param secure Whether to use TLS. It then offers HTTP/2 first, so a client that accepts it fails
 */
export async function serveResetting(
  handle: (request: Request) => Promise<Response>,
  secure: boolean,
): Promise<ResettingServer> {
  const received: string[] = [];
  const sockets = new Set<net.Socket>();
  const serve = (socket: net.Socket) => {
    let requests = 0;
    let text = "";
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {}); // clients may reset connections
    socket.on("data", async (bytes) => {
      text += bytes.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const [method, target] = text.split(" ", 2) as [string, string];
      text = "";
      if (method === "OPTIONS") return await write(socket, new Response(null, { status: 204 }));
      received.push(target);
      if (++requests > 1) socket.resetAndDestroy();
      else await write(socket, await handle(new Request(new URL(target, origin))));
    });
  };

  const server = secure
    ? tls.createServer({ ...LOOPBACK_CERTIFICATE, ALPNProtocols: ["h2", "http/1.1"] }, serve)
    : net.createServer(serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  const origin = `http${secure ? "s" : ""}://127.0.0.1:${port}`;
  return {
    origin,
    received,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

/** Writes a response with its length and CORS headers. */
async function write(socket: net.Socket, response: Response): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer());
  const headers = {
    ...Object.fromEntries(response.headers),
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "x-api-key",
    "content-length": `${body.length}`,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${response.status} \r\n${lines.join("")}\r\n`);
  socket.write(body);
}
