/** What a bench runs in. */
export type Runtime = "Deno" | "Node";

/** What a bench has measured: a cell of the table. */
export interface Figure {
  /** What was measured, the row; a row has a cell for each runtime. */
  what: string;
  runtime: Runtime;
  figure: string;
  /** What the figure has to be, where something was asked for. */
  asked?: string;
  met?: boolean;
}

/** The runtime that runs this. */
export const RUNTIME: Runtime = "Deno" in globalThis ? "Deno" : "Node";

/** Hands a figure over to whoever started the bench: standard output is for figures alone, one a line. */
export function report(figure: Omit<Figure, "runtime">): void {
  console.log(JSON.stringify({ runtime: RUNTIME, ...figure }));
}

/** Says what is being measured. */
export function say(what: string): void {
  console.error(`  ${what}`);
}

/** Asks for values that are not under a limit. */
export function atLeast(limit: number, values: readonly number[]): Pick<Figure, "asked" | "met"> {
  return { asked: `at least ${limit}`, met: values.every((value) => value >= limit) };
}

/** Asks for values that are not over a limit. */
export function atMost(
  limit: number,
  values: readonly number[],
  unit = "",
): Pick<Figure, "asked" | "met"> {
  return { asked: `at most ${limit}${unit}`, met: values.every((value) => value <= limit) };
}

/** A number with three digits that count, as people read it. */
export function rounded(value: number): string {
  return value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}

/** The middle one of the values, of an even number of them the upper middle one. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
