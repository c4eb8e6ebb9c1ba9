/**
 * Waits for something that comes of itself.
 *
 * @param look Looks for it; undefined and false are not yet
 * @param what What is waited for, for the message
 * @param milliseconds How long it may take
 */
export async function until<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  what: string,
  milliseconds = 10_000,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() - start > milliseconds) {
      throw new Error(`Waited ${milliseconds / 1000} s in vain for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
