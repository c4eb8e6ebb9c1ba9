import { ValidationError } from "../errors.ts";

/** `undefined` if the number is too large to convert exactly. */
export type ConvertDigits = (digits: string) => string | undefined;

/** As `factor × 10^exponent` of the first unit of the dimension. */
type Multiple = readonly [factor: number, exponent: number];

/** With exact factors. Sources: SI Brochure, 9th edition; NIST SP 811, appendix B. */
const DIMENSIONS: readonly Readonly<Record<string, Multiple>>[] = [
  // mass concentration
  {
    "ug/L": [1, 0],
    "pg/L": [1, -6],
    "ng/L": [1, -3],
    "pg/mL": [1, -3],
    "ug/m3": [1, -3],
    "ng/mL": [1, 0],
    "mg/m3": [1, 0],
    "mg/L": [1, 3],
    "g/L": [1, 6],
    "mg/mL": [1, 6],
  },
  // mass fraction
  {
    "ug/kg": [1, 0],
    "ng/g": [1, 0],
    "mg/kg": [1, 3],
    "ug/g": [1, 3],
    "mg/g": [1, 6],
    "kg/t": [1, 6],
  },
  // amount concentration
  { "umol/L": [1, 0], "mmol/L": [1, 3], "Mole/L": [1, 6] },
  // length
  { mm: [1, 0], cm: [1, 1], in: [254, -1], ft: [3048, -1], m: [1, 3] },
  // conductivity
  { "uS/cm": [1, 0], "umho/cm": [1, 0], "uS/m": [1, -2], "mS/cm": [1, 3], "S/m": [1, 4] },
];

const UNIT_NAMES = [...DIMENSIONS.flatMap((units) => Object.keys(units)), "deg C", "deg F"];

/** Without case, and with `u` for the sign of micro. */
function normalizeUnit(unit: string): string {
  return unit.trim().replace(/[µμ]/g, "u").toLowerCase();
}

/** Throws if a unit cannot be converted, or a characteristic is a difference of temperatures. */
export function checkUnits(units: Readonly<Record<string, string>>): void {
  for (const [characteristic, unit] of Object.entries(units)) {
    const isKnown = typeof unit === "string" &&
      UNIT_NAMES.some((name) => normalizeUnit(name) === normalizeUnit(unit));
    if (!isKnown) {
      throw new ValidationError("units", `cannot convert ${characteristic} to "${unit}"`, {
        received: units,
        hint: `use one of ${UNIT_NAMES.join(", ")}`,
      });
    }
    if (!/^temperature difference/i.test(characteristic)) continue;
    throw new ValidationError("units", `cannot convert ${characteristic}`, {
      received: units,
      hint: "omit it: a difference of temperatures has no zero to shift",
    });
  }
}

/** Each text is a characteristic, `=` and a unit, such as `Nitrate=mg/L`. */
export function parseUnits(texts: readonly string[]): Record<string, string> {
  const units = new Map<string, string>();
  for (const text of texts) {
    const at = text.lastIndexOf("=");
    const [characteristic, unit] = [
      text.slice(0, Math.max(at, 0)).trim(),
      text.slice(at + 1).trim(),
    ];
    if (characteristic === "" || unit === "") {
      throw new ValidationError(
        "units",
        `must be a characteristic, "=" and a unit, got "${text}"`,
        { received: text, hint: "an example is Nitrate=mg/L" },
      );
    }
    if ((units.get(characteristic) ?? unit) !== unit) {
      throw new ValidationError("units", `has several units for ${characteristic}`, {
        received: texts,
        hint: "pass one of them",
      });
    }
    units.set(characteristic, unit);
  }
  return Object.fromEntries(units);
}

export function unitConverter(from: string, to: string): ConvertDigits | undefined {
  const [source, target] = [normalizeUnit(from), normalizeUnit(to)];
  if (source === target) return (digits) => digits;
  if (source === "deg f" && target === "deg c") return linear(5, -160, 9, 0);
  if (source === "deg c" && target === "deg f") return linear(9, 160, 5, 0);
  for (const units of DIMENSIONS) {
    const multipleOf = (unit: string) =>
      Object.entries(units).find(([name]) => normalizeUnit(name) === unit)?.[1];
    const [multiple, other] = [multipleOf(source), multipleOf(target)];
    if (multiple && other) return linear(multiple[0], 0, other[0], multiple[1] - other[1]);
  }
  return undefined;
}

/** RFC 8259, section 6. */
const NUMBER_PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Maximum exponent and length. No measurement has a larger one, and it would take long. */
const MAX_SIZE = 400;

/** `(digits × factor + offset) / divisor × 10^exponent`. */
function linear(factor: number, offset: number, divisor: number, exponent: number): ConvertDigits {
  return (digits) => {
    const [, sign, whole, fraction = "", power = "0"] = NUMBER_PARTS.exec(digits)!;
    if (Math.abs(Number(power)) > MAX_SIZE || digits.length > MAX_SIZE) return undefined;
    if (factor === divisor && offset === 0) return movePoint(digits, exponent);
    const scale = fraction.length - Number(power);
    // Exact up to the division: in binary, 32.1 − 32 is not 0.1.
    const shift = 10n ** BigInt(Math.abs(scale));
    const integer = BigInt(`${sign}${whole}${fraction}`) * (scale < 0 ? shift : 1n);
    const sum = integer * BigInt(factor) + BigInt(offset) * (scale > 0 ? shift : 1n);
    const rounded = String(Number((Number(sum) / divisor).toPrecision(15)));
    if (!NUMBER_PARTS.test(rounded)) return undefined; // Infinity
    const moved = movePoint(rounded, exponent - Math.max(scale, 0));
    return moved.includes(".") && !moved.includes("e") ? moved.replace(/\.?0+$/, "") : moved;
  };
}

function movePoint(digits: string, exponent: number): string {
  const [, sign, whole, fraction = "", power] = NUMBER_PARTS.exec(digits)!;
  if (Number(digits) === 0) return digits;
  if (power !== undefined) {
    const sum = Number(power) + exponent;
    return `${digits.split(/e/i)[0]}${sum === 0 ? "" : `e${sum}`}`;
  }
  const all = `${"0".repeat(Math.max(0, 1 - whole!.length - exponent))}${whole}${fraction}`
    .padEnd(whole!.length + exponent, "0");
  const at = all.length - Math.max(0, fraction.length - exponent);
  const rest = all.slice(at);
  return `${sign}${all.slice(0, at).replace(/^0+(?=\d)/, "")}${rest === "" ? "" : `.${rest}`}`;
}
