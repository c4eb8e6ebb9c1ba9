/** Part of Deno's warning. */
const WARNING = "request.signal aborts on successful responses";

/**
 * Hides a warning that Deno prints once: without `--unstable-no-legacy-abort`, it aborts `request.signal` after
 * each response. The app works with and without this flag, because it uses the signal only until it returns
 * the response.
 */
export function hideAbortWarning(): void {
  const { warn } = console;
  const filter = (...data: unknown[]) => {
    if (!String(data[0]).includes(WARNING)) return warn.apply(console, data);
    if (console.warn === filter) console.warn = warn;
  };
  console.warn = filter;
}
