/**
 * Polls a function until it returns a value other than `undefined` and `false`.
 *
 * @param poll The function
 * @param name Name of the expected event, for the error message
 * @param timeout Time limit (ms)
 * @returns The value
 * @throws {Error} If the time limit expires
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
