const quote = JSON.stringify;

/** Creates the configuration of workerd for a Worker in `app.js`, on a free port. */
export function toCapnp(wrangler: string, environment: Record<string, string>): string {
  return `using Workerd = import ${quote("/workerd/workerd.capnp")};
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .app),
    (name = "cache", worker = .cache),
    ${NETWORK},
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const app :Workerd.Worker = (
  ${codeOf(wrangler)}
  bindings = [${toBindings(environment).join(", ")}],
  cacheApiOutbound = "cache",
);
const cache :Workerd.Worker = (
  modules = [(name = "cache", esModule = ${quote(CACHE_WORKER)})],
  compatibilityDate = "2026-01-01",
);
`;
}

/**
 * Worker that stores the entries of the standard cache, and ignores their age. A PUT request contains a response
 * with its status line and headers.
 *
 * Source: workerd, `src/workerd/api/cache.c++`.
 */
const CACHE_WORKER = `
const entries = new Map();
const statusOf = (status) => ({ "cf-cache-status": status });
export default { fetch: respond };
async function respond(request) {
  const key = request.headers.get("cf-cache-namespace") + " " + request.url;
  switch (request.method) {
    case "PUT": {
      const bytes = new Uint8Array(await request.arrayBuffer());
      const text = new TextDecoder("latin1").decode(bytes);
      const end = text.indexOf("\\r\\n\\r\\n");
      const lines = text.slice(0, end).split("\\r\\n").slice(1);
      const headers = lines.map((line) => line.split(": "))
        .filter(([name]) => !/^(transfer-encoding|content-length)$/i.test(name));
      entries.set(key, { body: bytes.slice(end + 4), headers });
      return new Response(null, { status: 204 });
    }
    case "PURGE":
      return new Response(null, { status: entries.delete(key) ? 200 : 404 });
    default: {
      const entry = entries.get(key);
      if (entry === undefined) return new Response(null, { status: 504, headers: statusOf("MISS") });
      return new Response(entry.body, { headers: [...entry.headers, ["cf-cache-status", "HIT"]] });
    }
  }
}`;

/**
 * Creates the configuration of workerd for isolates, with a Durable Object if `storage` is a
 * folder.
 */
export function toIsolatesCapnp(
  wrangler: string,
  environment: Record<string, string>,
  count: number,
  storage: string | undefined,
): string {
  const names = Array.from({ length: count }, (_, index) => `isolate${index}`);
  const bindings = toBindings(environment);
  const limiter = { className: "RateLimiterObject", serviceName: "limiter" };
  if (storage !== undefined) {
    bindings.push(
      `(name = "RATE_LIMITER", durableObjectNamespace = (className = ${
        quote(limiter.className)
      }, ` +
        `serviceName = ${quote(limiter.serviceName)}))`,
    );
  }
  const objects = storage === undefined ? "" : `
const limiter :Workerd.Worker = (
  ${codeOf(wrangler)}
  durableObjectNamespaces = [
    (className = ${quote(limiter.className)}, uniqueKey = "weir-rate-limiter", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "storage"),
);
`;
  return `using Workerd = import ${quote("/workerd/workerd.capnp")};
const config :Workerd.Config = (
  services = [
    ${names.map((name) => `(name = ${quote(name)}, worker = .app),`).join("\n    ")}
    ${
    storage === undefined ? "" : `(name = ${quote(limiter.serviceName)}, worker = .limiter),
    (name = "storage", disk = (path = ${quote(storage)}, writable = true)),`
  }
    ${NETWORK},
  ],
  sockets = [
    ${
    names.map((name) =>
      `(name = ${quote(name)}, address = "127.0.0.1:0", http = (), service = ${quote(name)}),`
    ).join("\n    ")
  }
  ],
);
const app :Workerd.Worker = (
  ${codeOf(wrangler)}
  bindings = [${bindings.join(", ")}],
);
${objects}`;
}

const NETWORK = '(name = "internet", network = (allow = ["private", "local"]))';

/** Returns the fields of a Worker with its code, and the compatibility date and flags of `wrangler.jsonc`. */
function codeOf(wrangler: string): string {
  const { compatibility_date: date, compatibility_flags: flags } = JSON.parse(
    wrangler.replace(/^\s*\/\/.*$/gm, ""),
  );
  return `modules = [(name = "app", esModule = embed "app.js")],
  compatibilityDate = ${quote(date)},
  compatibilityFlags = ${quote(flags)},`;
}

function toBindings(environment: Record<string, string>): string[] {
  return Object.entries(environment)
    .map(([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`);
}
