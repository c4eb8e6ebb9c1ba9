// Scales of values, with ticks at round numbers: 1, 2 or 5 times a power of ten.

export interface Scale {
  ticks: readonly number[];
  /** Returns 0 for the first tick and 1 for the last one. */
  partOf: (value: number) => number;
}

/** Significant digits of a tick's label. */
export const TICK_DIGITS = 6;

/** Returns a scale that encloses both numbers. Those of a logarithmic one must be positive. */
export function createScale(low: number, high: number, isLogarithmic: boolean): Scale {
  const ticks = isLogarithmic ? logarithmicTicks(low, high) : linearTicks(low, high);
  const convert = isLogarithmic ? Math.log10 : Number;
  const [bottom, top] = [convert(ticks[0]!), convert(ticks.at(-1)!)];
  return { ticks, partOf: (value) => (convert(value) - bottom) / (top - bottom) };
}

/** Maximum number of intervals of a linear scale, and of ticks of a logarithmic one. */
const [MAX_INTERVALS, MAX_TICKS] = [6, 9];

/** Returns multiples of a round number. Begins at zero if the values are near it. */
function linearTicks(low: number, high: number): number[] {
  if (low >= 0 && low < high / 2) low = 0;
  const largest = Math.max(-low, high);
  const length = high - low || Math.abs(high) || 1;
  // Closer ticks would have equal labels.
  const step = roundUp(Math.max(length / MAX_INTERVALS, largest / 10 ** (TICK_DIGITS - 1)));
  const first = Math.floor(low / step);
  const last = Math.max(Math.ceil(high / step), first + 1);
  // Rounded, because multiples such as 3 × 0.1 are not exact.
  const tick = (_: unknown, i: number) => Number(((first + i) * step).toPrecision(12));
  return Array.from({ length: last - first + 1 }, tick);
}

/** Returns round numbers, or only powers of ten if there would be many. */
function logarithmicTicks(low: number, high: number): number[] {
  // The logarithm of a number just below a power of ten rounds up, so one power more is tried at each end.
  const [first, last] = [Math.floor(Math.log10(low)) - 1, Math.ceil(Math.log10(high)) + 1];
  const enclose = (digits: readonly number[], powerStep: number) => {
    const powers = numbersOf(first - powerStep, last + powerStep).filter((power) =>
      power % powerStep === 0
    );
    // Parsed, because `10 ** power` is not exact.
    const ticks = powers.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)));
    const from = ticks.findLastIndex((tick) => tick <= low);
    const to = ticks.findIndex((tick) => tick >= high);
    return ticks.slice(from, Math.max(to, from + 1) + 1);
  };
  let ticks = enclose([1, 2, 5], 1);
  for (let step = 1; ticks.length > MAX_TICKS; step++) ticks = enclose([1], step);
  return ticks;
}

/** Returns the smallest round number that is not less than a positive number. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return power * [1, 2, 5, 10].find((digit) => digit * power >= number)!;
}

/** Returns about `most` whole numbers of a range: those that are multiples of a round number. */
export function roundNumbers(first: number, last: number, most: number): number[] {
  const step = Math.max(1, roundUp((last - first + 1) / most));
  return numbersOf(first, last).filter((number) => number % step === 0);
}

function numbersOf(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Returns the least and the greatest number. There can be too many for the arguments of `Math.min`. */
export function rangeOf(numbers: readonly number[]): [low: number, high: number] {
  const start: [number, number] = [Infinity, -Infinity];
  return numbers.reduce(([low, high], n) => [Math.min(low, n), Math.max(high, n)], start);
}

/** Returns a part of a length as a percentage: a browser scales such positions, but not the text there. */
export function percent(part: number, digits = 2): string {
  return `${+(part * 100).toFixed(digits)}%`;
}
