// The texts of the page in English and French, and numbers in their notations. French names of characteristics and
// values are those of DataStream's schema.
import { acceptsLanguages } from "@std/http/negotiation";
import type { html } from "hono/html";
import { fold, REGION_NAMES } from "../../src/odata/value_hints.ts";
import TABLE from "./texts.json" with { type: "json" };

/** Escaped HTML. */
export type Html = ReturnType<typeof html>;
export type Language = "en" | "fr";
export type Text = Readonly<Record<keyof typeof TABLE.texts, string>>;
export type GroupId = keyof typeof TABLE.groups;

/** A text that one language lacks is an error of the type check. */
type Translation = Readonly<Record<Language, string>>;

const textsIn = (language: Language) =>
  Object.fromEntries(
    Object.entries(TABLE.texts).map(([name, row]) => [name, row[language]]),
  ) as Text;

export const TEXTS: Readonly<Record<Language, Text>> = { en: textsIn("en"), fr: textsIn("fr") };
/** Groups of characteristics, in the order of suggestions. */
export const GROUP_NAMES: Readonly<Record<GroupId, Translation>> = TABLE.groups;
export const FILTER_NAMES: Readonly<Record<string, Translation>> = TABLE.filters;
const FRENCH_VALUES: Readonly<Record<string, string>> = TABLE.frenchValues;
const FRENCH_REGIONS: Readonly<Record<string, string>> = TABLE.frenchRegions;

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
export function formatPlural(
  name: keyof typeof TABLE.plurals,
  n: number,
  language: Language,
): string {
  const isOne = n === 1 || n === 0 && language === "fr";
  return fill(TABLE.plurals[name][language][isOne ? 0 : 1]!, { n }, language);
}

/** By language and options. Creating one takes longer than all numbers of a map. */
const formats = new Map<string, Intl.NumberFormat>();
const LOCALES: Record<Language, string> = { en: "en-CA", fr: "fr-CA" };

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

/** Returns digits of the service in the notation of a language: all of them, with its decimal sign. */
export function formatDigits(digits: string, language: Language): string {
  return language === "fr" ? digits.replace(".", ",") : digits;
}

/** Such as `2015–2024` or `since 2015`; empty without years. */
export function formatYears(first: string, last: string, language: Language): string {
  const { since, until } = TEXTS[language];
  if (first !== "" && last !== "") return [...new Set([first, last])].join("–");
  return first + last && fill(first ? since : until, { year: first || last }, language);
}

/** Returns the short name of a month of a year; the first month is 0. */
export function monthName(month: number, language: Language): string {
  const options = { month: "short", timeZone: "UTC" } as const;
  return new Date(Date.UTC(2000, month)).toLocaleString(LOCALES[language], options);
}

/** Such as `18 MB` or `0.2 Mo`. */
export function formatBytes(bytes: number, language: Language): string {
  const unit = bytes < 1e5 ? "kilobyte" : bytes < 1e9 ? "megabyte" : "gigabyte";
  const amount = bytes / { kilobyte: 1e3, megabyte: 1e6, gigabyte: 1e9 }[unit];
  const maximumFractionDigits = amount < 10 && unit !== "kilobyte" ? 1 : 0;
  return formatNumber(amount, language, { style: "unit", unit, maximumFractionDigits });
}

/** Such as `25 s` or `3 min`. */
export function formatTime(seconds: number, language: Language): string {
  return seconds < 90
    ? `${formatNumber(Math.max(1, Math.round(seconds)), language)} s`
    : `${formatNumber(Math.round(seconds / 60), language)} min`;
}

/** Returns the French name of a value if the schema has one, else the value itself. */
export function valueName(value: string, language: Language): string {
  return language === "fr" && Object.hasOwn(FRENCH_VALUES, value) ? FRENCH_VALUES[value]! : value;
}

/** Returns the name of a region, or its Id if it is not in the list. That of a hub must differ from locations. */
export function regionName(id: string, language: Language): string {
  const name = REGION_NAMES.get(id) ?? id;
  const local = language === "fr" ? FRENCH_REGIONS[id] ?? name : name;
  return id.startsWith("hub.") && name !== id ? `${local} (${TEXTS[language].basin})` : local;
}

/** Accepts the Id, the name in either language, or the code of a province, in any case. */
export function findRegion(text: string): string | undefined {
  const wanted = fold(text);
  const code = wanted === "pei" || wanted === "ipe" ? "pe" : wanted;
  return [...REGION_NAMES.keys()].find((id) =>
    id === text || id === `admin.4.ca.${code}` || fold(regionName(id, "en")) === wanted ||
    fold(regionName(id, "fr")) === wanted
  );
}

/** Characters of `accept-language` that are read. */
const MAX_HEADER = 1_000;

/** By the parameter `lang`, else by the header `accept-language` (RFC 9110, 12.5.4). */
export function chooseLanguage(wanted: string | null, header: string | null): Language {
  if (wanted === "fr" || wanted === "en") return wanted;
  const headers = new Headers({ "accept-language": (header ?? "").slice(0, MAX_HEADER) });
  return acceptsLanguages({ headers }, "en", "fr") === "fr" ? "fr" : "en";
}
