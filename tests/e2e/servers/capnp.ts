/**
 * What workerd reads beside a Worker's code: the environment as bindings, and a port of the system's
 * choice.
 *
 * @param wrangler The text of `wrangler.jsonc`, for how the Worker is deployed
 * @param environment The bindings
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
