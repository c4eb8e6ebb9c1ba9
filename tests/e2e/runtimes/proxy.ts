import { once } from "node:events";
import net from "node:net";

/** An HTTP proxy on loopback. */
export interface Proxy extends AsyncDisposable {
  url: string;
  /** Number of the received requests. */
  requests: number;
}

export async function startProxy(): Promise<Proxy> {
  const server = net.createServer((client) => {
    client.on("error", () => {}); // clients may reset connections
    client.once("data", (head) => {
      proxy.requests++;
      const [method, target = ""] = head.toString().split(" ");
      const isTunnel = method === "CONNECT";
      const { hostname, port } = new URL(isTunnel ? `http://${target}` : target);
      const upstream = net.connect(Number(port), hostname);
      upstream.on("error", () => {});
      if (isTunnel) client.write("HTTP/1.1 200 OK\r\n\r\n");
      else upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    requests: 0,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}
