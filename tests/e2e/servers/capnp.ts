/**
 * Creates the configuration of workerd for a Worker in `app.js`, on a free port.
 *
 * @param wrangler Text of `wrangler.jsonc`, for the compatibility date and flags
 * @param environment Environment variables, which become bindings
 */
export function toCapnp(wrangler: string, environment: Record<string, string>): string {
  const { compatibility_date: date, compatibility_flags: flags } = JSON.parse(
    wrangler.replace(/^\s*\/\/.*$/gm, ""),
  );
  const quote = JSON.stringify;
  const bindings = Object.entries(environment)
    .map(([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`);
  return `using Workerd = import ${quote("/workerd/workerd.capnp")};
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .app),
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const app :Workerd.Worker = (
  modules = [(name = "app", esModule = embed "app.js")],
  compatibilityDate = ${quote(date)},
  compatibilityFlags = ${quote(flags)},
  bindings = [${bindings.join(", ")}],
);
`;
}
