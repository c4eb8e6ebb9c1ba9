/** Maximum number of results in a cache. The texts may come from outside. */
const MAX_ENTRIES = 1_000;
/** Maximum length of a text whose result is cached. */
const MAX_LENGTH = 500;

/**
 * Caches the results of a function of one text. A full cache is cleared.
 *
 * A call of `endpoint()` with a route that is not cached takes ten times as long.
 *
 * @param read The function; an error that it throws is not cached
 * @returns The same function; its results are shared between calls, so they must not be changed
 */
export function memoize<T>(read: (text: string) => T): (text: string) => T {
  const cache = new Map<string, T>();
  return (text) => {
    let result = cache.get(text);
    if (result === undefined) {
      result = read(text);
      if (text.length > MAX_LENGTH) return result;
      if (cache.size >= MAX_ENTRIES) cache.clear();
      cache.set(text, result);
    }
    return result;
  };
}
