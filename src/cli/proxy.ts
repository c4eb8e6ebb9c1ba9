import process from "node:process";

/** Result of telling `fetch` to use the proxy; undefined if it was not or cannot be told. */
let told: "used" | "invalid" | undefined;

/**
 * Makes `fetch` in Node use HTTPS_PROXY, HTTP_PROXY and NO_PROXY, where a program can: from 24.14 on.
 * In Deno and Bun, `fetch` uses them by itself.
 */
export async function useProxy(): Promise<void> {
  if (!isIgnored()) return;
  const { default: http } = await import("node:http");
  const { setGlobalProxyFromEnv } = http as { setGlobalProxyFromEnv?: () => void };
  try {
    setGlobalProxyFromEnv?.();
    if (setGlobalProxyFromEnv) told = "used";
  } catch {
    told = "invalid";
  }
}

/** What to do if the environment names a proxy that `fetch` ignores; undefined otherwise. */
export function ignoredProxyHint(): string | undefined {
  if (!isIgnored()) return undefined;
  // The value may hold a password.
  if (told === "invalid") return "HTTPS_PROXY or HTTP_PROXY is not a URL, and was ignored";
  const remedy = canBeTold() ? "set NODE_USE_ENV_PROXY=1" : "use Node 24.14 or later, or Deno";
  return `Node ${process.version} ignores HTTPS_PROXY and HTTP_PROXY: ${remedy}`;
}

function isIgnored(): boolean {
  const { versions, env } = process;
  // Before the environment, which Deno may not be allowed to read.
  if (versions.deno || versions.bun || told === "used") return false;
  if (canBeTold() && env.NODE_USE_ENV_PROXY === "1") return false;
  return Boolean(env.HTTPS_PROXY || env.https_proxy || env.HTTP_PROXY || env.http_proxy);
}

/** Whether Node takes `NODE_USE_ENV_PROXY=1`: from 22.21 and 24.5 on. */
function canBeTold(): boolean {
  return process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
}
