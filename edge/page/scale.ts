// Scales of values, with ticks at round numbers: 1, 2 or 5 times a power of ten.

export interface Scale {
  ticks: readonly number[];
  /** Returns 0 for the first tick and 1 for the last one. */
  partOf: (value: number) => number;
}

/** Returns a scale that encloses both numbers. Those of a logarithmic one must be positive. */
export function createScale(low: number, high: number, isLogarithmic: boolean): Scale {
  const ticks = isLogarithmic ? logarithmicTicks(low, high) : linearTicks(low, high);
  const convert = isLogarithmic ? Math.log10 : Number;
  // Halves, because the difference of great numbers is not finite.
  const half = (value: number) => convert(value) / 2;
  const [bottom, top] = [half(ticks[0]!), half(ticks.at(-1)!)];
  return { ticks, partOf: (value) => (half(value) - bottom) / (top - bottom) };
}

const ROUND_DIGITS = [1, 2, 5, 10];

/** Returns the smallest round number that is not less than a positive number. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return power * ROUND_DIGITS.find((digit) => digit * power >= number)!;
}

/** Returns a round distance between labels, so that about `most` of them fit into `length`. */
export function labelStep(length: number, most: number): number {
  return Math.max(1, roundUp(length / most));
}

/** Maximum number of intervals of a linear scale, and of ticks of a logarithmic one. */
const [MAX_INTERVALS, MAX_TICKS] = [6, 9];

/** Returns multiples of a round number. Begins at zero if the values are near it. */
function linearTicks(low: number, high: number): number[] {
  if (low >= 0 && low < high / 2) low = 0;
  const halfLength = high / 2 - low / 2 || Math.abs(high) / 2 || 0.5;
  const step = roundUp(halfLength / (MAX_INTERVALS / 2));
  const first = Math.floor(low / step);
  const last = Math.max(Math.ceil(high / step), first + 1);
  // Rounded, because multiples such as 3 × 0.1 are not exact.
  const tick = (_: unknown, i: number) => toFinite(Number(((first + i) * step).toPrecision(12)));
  return Array.from({ length: last - first + 1 }, tick);
}

/** Returns round numbers, or only powers of ten if there would be many. */
function logarithmicTicks(low: number, high: number): number[] {
  const [floor, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  // The logarithm of a number just below a power of ten rounds up.
  const first = powerOfTen(floor) > low ? floor - 1 : floor;
  const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const all = powers.flatMap((power) => [1, 2, 5].map((digit) => powerOfTen(power, digit)));
  const from = all.findLastIndex((tick) => tick <= low);
  const to = all.findIndex((tick) => tick >= high);
  const ticks = all.slice(from, Math.max(to, from + 1) + 1);
  if (ticks.length <= MAX_TICKS) return ticks;
  const step = Math.ceil(powers.length / MAX_TICKS);
  const length = Math.ceil((last - first) / step) + 1;
  return Array.from({ length }, (_, i) => powerOfTen(first + i * step));
}

/** Returns the multiple of a power of ten as written, which `**` does not, or the nearest positive number. */
function powerOfTen(power: number, digit = 1): number {
  return toFinite(Number(`${digit}e${power}`)) || Number.MIN_VALUE;
}

/** Returns the greatest number instead of infinity. */
function toFinite(number: number): number {
  return Math.min(Math.max(number, -Number.MAX_VALUE), Number.MAX_VALUE);
}

/** Returns a part of a length as a percentage: a browser scales such positions, but not the text there. */
export function percent(part: number, digits = 2): string {
  return `${+(part * 100).toFixed(digits)}%`;
}
