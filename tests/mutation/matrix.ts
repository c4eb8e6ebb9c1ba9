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

/** What a matrix of mutants and tests says about the tests. */
export interface MatrixSummary {
  /** Tests that alone kill a mutant, with the number of these mutants. */
  sole: ReadonlyMap<string, number>;
  /** Few tests that together kill what all tests kill, the most useful first. */
  cover: readonly string[];
  /** Tests that kill something, and nothing that the cover does not kill. */
  redundant: readonly string[];
}

/** Summarizes a matrix: the tests, or the test files, that kill each mutant. */
export function summarize(killersOf: readonly (readonly string[])[]): MatrixSummary {
  const sole = new Map<string, number>();
  for (const [killer, another] of killersOf) {
    if (killer !== undefined && another === undefined) {
      sole.set(killer, (sole.get(killer) ?? 0) + 1);
    }
  }
  const cover: string[] = [];
  let left = killersOf.filter((killers) => killers.length > 0);
  while (left.length > 0) {
    const counts = Map.groupBy(left.flat(), (killer) => killer);
    const [best] = [...counts].sort(([a, { length: x }], [b, { length: y }]) =>
      y - x || (a < b ? -1 : 1)
    )[0]!;
    cover.push(best);
    left = left.filter((killers) => !killers.includes(best));
  }
  const redundant = new Set(killersOf.flat()).difference(new Set(cover));
  return { sole, cover, redundant: [...redundant].sort() };
}

/** Returns the summary as text, for test files and for tests. */
export function describeMatrix(rows: readonly MatrixRow[]): string {
  const tried = rows.filter(({ isTypeError }) => !isTypeError);
  const killed = tried.filter(({ killers, isTimeout }) => isTimeout || killers.length > 0);
  const lines = [
    `${rows.length} mutants: ${rows.length - tried.length} rejected by the type check, ` +
    `${killed.length} killed by tests (${
      killed.filter((row) => row.isTimeout).length
    } timeouts), ` +
    `${tried.length - killed.length} survived`,
  ];
  const views: [string, (killer: string) => string][] = [
    ["test files", (killer) => killer.split(" > ")[0]!],
    ["tests", (killer) => killer],
  ];
  for (const [name, toView] of views) {
    const matrix = tried.map(({ killers }) => [...new Set(killers.map(toView))]);
    const { sole, cover, redundant } = summarize(matrix);
    lines.push(
      `\n${new Set(matrix.flat()).size} ${name} kill something`,
      `\n${sole.size} ${name} alone kill something:`,
      ...[...sole].sort(([, a], [, b]) => b - a).map(([test, count]) => `${count} ${test}`),
      `\n${cover.length} ${name} kill all that is killed (greedy):`,
      ...cover,
      `\n${redundant.length} ${name} kill only what those kill:`,
      ...redundant,
    );
  }
  return lines.join("\n");
}
