/**
 * Polls a function until it returns a value other than `undefined` and `false`. Throws after
 * `timeout` (ms); `name` is that of the expected event, for the message.
 */
export async function waitFor<T>(
  poll: () => T | undefined | false | Promise<T | undefined | false>,
  name: string,
  timeout = 60_000,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await poll();
    if (found !== undefined && found !== false) return found;
    if (performance.now() - start > timeout) {
      throw new Error(`Timeout after ${timeout / 1000} s: ${name}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
