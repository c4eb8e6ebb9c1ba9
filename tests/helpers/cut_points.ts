/**
 * Returns the lengths at which to truncate a page of JSON.
 *
 * Omits lengths inside a run of letters or digits except the first two and the last, because the
 * state of a parser does not change there.
 */
export function cutPoints(page: Uint8Array): number[] {
  const isWord = (index: number) => /^[A-Za-z0-9]$/.test(String.fromCharCode(page[index] ?? 0));
  return Array.from(page.keys()).filter((length) =>
    ![-2, -1, 0, 1].every((offset) => isWord(length + offset))
  );
}
