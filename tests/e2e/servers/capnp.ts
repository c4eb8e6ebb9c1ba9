const quote = JSON.stringify;

/** Class and service of the Durable Object that limits the rate. */
const OBJECT = `className = "RateLimiterObject", serviceName = "limiter"`;

export interface WorkerOptions {
  /** Environment variables of each isolate. */
  environment: Record<string, string>;
  /** Number of isolates, each with a socket of its own. Default 1 */
  count?: number;
  /** Whether the isolates share a rate limiter, whose storage is in their folder. Default false */
  hasStorage?: boolean;
}

/**
 * Creates the configuration of workerd for a Worker in `app.js`, with the compatibility date and flags of
 * `wrangler.jsonc`. Its isolates are on free ports.
 */
export function toCapnp(
  wrangler: string,
  { environment, count = 1, hasStorage = false }: WorkerOptions,
): string {
  const names = Array.from({ length: count }, (_, index) => quote(`isolate${index}`));
  const bindings = Object.entries(environment)
    .map(([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`);
  if (hasStorage) {
    bindings.push(`(name = "RATE_LIMITER", durableObjectNamespace = (${OBJECT}))`);
  }
  const { compatibility_date: date, compatibility_flags: flags } = JSON.parse(
    wrangler.replace(/^\s*\/\/.*$/gm, ""),
  );
  const code = `modules = [(name = "app", esModule = embed "app.js")],
  compatibilityDate = ${quote(date)},
  compatibilityFlags = ${quote(flags)},`;
  return `using Workerd = import ${quote("/workerd/workerd.capnp")};
const config :Workerd.Config = (
  services = [
    ${names.map((name) => `(name = ${name}, worker = .app),`).join("\n    ")}
    ${hasStorage ? STORAGE_SERVICES : ""}
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [
    ${names.map((name) => `(name = ${name}, service = ${name}, ${SOCKET}),`).join("\n    ")}
  ],
);
const app :Workerd.Worker = (
  ${code}
  bindings = [${bindings.join(", ")}],
);
const limiter :Workerd.Worker = (
  ${code}
  durableObjectNamespaces = [
    (className = "RateLimiterObject", uniqueKey = "weir-rate-limiter", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "storage"),
);
`;
}

const SOCKET = 'address = "127.0.0.1:0", http = ()';

const STORAGE_SERVICES = `(name = "limiter", worker = .limiter),
    (name = "storage", disk = (path = ".", writable = true)),`;
