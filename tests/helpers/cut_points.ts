/**
 * The lengths at which to truncate a page of JSON: all of them, but of a run of letters or digits
 * only the first two and the last. Inside such a run a parser is in the same state.
 */
export function cutPoints(page: Uint8Array): number[] {
  const isWord = (index: number) => /^[A-Za-z0-9]$/.test(String.fromCharCode(page[index] ?? 0));
  return Array.from(page.keys()).filter((length) =>
    ![-2, -1, 0, 1].every((offset) => isWord(length + offset))
  );
}
