// Texts and numbers of the map, the chart, the bars and the table in both languages.
import type { html } from "hono/html";
import TABLE from "./texts.json" with { type: "json" };

export type Html = ReturnType<typeof html>;

export type Language = "en" | "fr";

/** Splits rows by language. A text that one language lacks is an error of the type check. */
export function byLanguage<T extends Readonly<Record<string, { en: unknown; fr: unknown }>>>(
  rows: T,
): Readonly<Record<Language, { readonly [K in keyof T]: T[K]["en"] }>> {
  const textsIn = (language: Language) =>
    Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, row[language]])) as {
      [K in keyof T]: T[K]["en"];
    };
  return { en: textsIn("en"), fr: textsIn("fr") };
}

export type DrawingText = {
  readonly [K in keyof typeof TABLE.drawings]: typeof TABLE.drawings[K]["en"];
};

export const DRAWING_TEXT: Readonly<Record<Language, DrawingText>> = byLanguage(TABLE.drawings);
const FRENCH_VALUES: Readonly<Record<string, string>> = TABLE.frenchValues;

const LOCALES: Record<Language, string> = { en: "en-CA", fr: "fr-CA" };

/** Replaces `{name}` by values; numbers are formatted. */
export function fill(
  template: string,
  values: Readonly<Record<string, string | number>>,
  language: Language,
): string {
  return template.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? formatNumber(value, language) : value;
  });
}

/** Returns a number with its noun; French has the singular for zero, too. */
export function formatPlural(forms: readonly string[], n: number, language: Language): string {
  const isOne = n === 1 || n === 0 && language === "fr";
  return fill(forms[isOne ? 0 : 1]!, { n }, language);
}

/** Returns the French name of a value if the schema has one, else the value itself. */
export function valueName(value: string, language: Language): string {
  return language === "fr" && Object.hasOwn(FRENCH_VALUES, value) ? FRENCH_VALUES[value]! : value;
}

/** Returns digits of the service in the notation of a language: all of them, with its decimal sign. */
export function formatDigits(digits: string, language: Language): string {
  return language === "fr" ? digits.replace(".", ",") : digits;
}

/** By language and options. Creating one takes longer than all numbers of a map. */
const formats = new Map<string, Intl.NumberFormat>();

/** Returns a number in the notation of a language, such as `1,234.5` or `1 234,5`. */
export function formatNumber(
  value: number,
  language: Language,
  options?: Intl.NumberFormatOptions,
): string {
  const key = JSON.stringify([language, options]);
  const format = formats.get(key) ?? new Intl.NumberFormat(LOCALES[language], options);
  formats.set(key, format);
  return format.format(value);
}

/** Returns the short name of a month of a year; the first month is 0. */
export function monthName(month: number, language: Language): string {
  const options = { month: "short", timeZone: "UTC" } as const;
  return new Date(Date.UTC(2000, month)).toLocaleString(LOCALES[language], options);
}
