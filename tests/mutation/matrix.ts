/** Result of the tests that execute a mutant, as one line of the file of results. */
export interface MatrixRow {
  /** File, line, offset and kind of the mutant. */
  mutant: string;
  /** Whether the type check rejects the mutant, so that no test runs. */
  isTypeError?: boolean;
  isTimeout?: boolean;
  /** Each test that failed, as its file, ` > ` and its name. */
  killers: readonly string[];
}

/** Returns the tests that alone kill a mutant, with the number of these mutants: without them, nobody would notice it. */
export function findSoleKillers(killersOf: readonly (readonly string[])[]): [string, number][] {
  const sole = new Map<string, number>();
  for (const [killer, another] of killersOf) {
    if (killer === undefined || another !== undefined) continue;
    sole.set(killer, (sole.get(killer) ?? 0) + 1);
  }
  return [...sole].sort(([, a], [, b]) => b - a);
}

/** Returns a summary as text. */
export function describeMatrix(rows: readonly MatrixRow[]): string {
  const tried = rows.filter(({ isTypeError }) => !isTypeError);
  const timeouts = tried.filter(({ isTimeout }) => isTimeout).length;
  const killed = tried.filter(({ killers, isTimeout }) => isTimeout || killers.length > 0).length;
  const sole = findSoleKillers(tried.map(({ killers }) => killers));
  return [
    `${rows.length} mutants: ${rows.length - tried.length} rejected by the type check, ` +
    `${killed} killed by tests (${timeouts} timeouts), ${tried.length - killed} survived`,
    `${
      new Set(tried.flatMap(({ killers }) => killers)).size
    } tests kill something, and these alone:`,
    ...sole.map(([test, count]) => `${count} ${test}`),
  ].join("\n");
}
