export interface NavigatorGlobals {
  navigator?: { userAgent?: string };
}

export function isWorkers(
  { navigator }: NavigatorGlobals = globalThis as NavigatorGlobals,
): boolean {
  return navigator?.userAgent === "Cloudflare-Workers";
}
