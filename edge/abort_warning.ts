/** Part of the warning of Deno. */
const WARNING = "request.signal aborts on successful responses";

/**
 * Hides a warning that Deno prints once, unless `--unstable-no-legacy-abort` is set: it aborts
 * `request.signal` after each response. The app is right in both cases, because it uses the signal only until
 * it returns the response.
 */
export function hideAbortWarning(): void {
  const { warn } = console;
  const filter = (...data: unknown[]) => {
    if (!String(data[0]).includes(WARNING)) return warn.apply(console, data);
    if (console.warn === filter) console.warn = warn;
  };
  console.warn = filter;
}
