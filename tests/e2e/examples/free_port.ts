/** Returns a port on which no program listens, for programs that cannot choose one themselves. */
export function findFreePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
