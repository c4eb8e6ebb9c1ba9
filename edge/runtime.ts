/** Globals of a runtime that tell which one it is. */
export interface NavigatorGlobals {
  navigator?: { userAgent?: string };
}

/** Whether the runtime is Cloudflare Workers. */
export function isWorkers(
  { navigator }: NavigatorGlobals = globalThis as NavigatorGlobals,
): boolean {
  return navigator?.userAgent === "Cloudflare-Workers";
}
