import process from "node:process";

/** Result of {@linkcode useProxy}. */
let configured: "used" | "invalid" | undefined;

/** Node needs 24.14 or later. Deno and Bun use the proxy variables by default. */
export async function useProxy(): Promise<void> {
  if (!isIgnored()) return;
  const { default: http } = await import("node:http");
  const { setGlobalProxyFromEnv } = http as { setGlobalProxyFromEnv?: () => void };
  try {
    setGlobalProxyFromEnv?.();
    if (setGlobalProxyFromEnv) configured = "used";
  } catch {
    configured = "invalid";
  }
}

export function ignoredProxyHint(): string | undefined {
  if (!isIgnored()) return undefined;
  // The value is not shown, because it can contain a password.
  if (configured === "invalid") {
    return "The proxy was not used: HTTPS_PROXY or HTTP_PROXY is not a URL";
  }
  const action = canSetVariable() ? "set NODE_USE_ENV_PROXY=1" : "use Node 24.14 or later, or Deno";
  return `Node ${process.version} ignores HTTPS_PROXY and HTTP_PROXY: ${action}`;
}

function isIgnored(): boolean {
  const { versions, env } = process;
  // Deno is ruled out first, because reading its environment needs a permission.
  if (versions.deno || versions.bun || configured === "used") return false;
  const isSet = env.HTTPS_PROXY || env.https_proxy || env.HTTP_PROXY || env.http_proxy;
  return Boolean(isSet) && !(env.NODE_USE_ENV_PROXY === "1" && canSetVariable());
}

/** Node supports `NODE_USE_ENV_PROXY=1` since 22.21 and 24.5. */
function canSetVariable(): boolean {
  return process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
}
