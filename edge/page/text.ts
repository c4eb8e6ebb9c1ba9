// The texts of the page in English and French, and numbers in their notations. French names of characteristics and
// values are those of DataStream's schema.
import { acceptsLanguages } from "@std/http/negotiation";
import type { html } from "hono/html";
import WORDS from "../../src/odata/characteristic_words.json" with { type: "json" };
import { REGION_NAMES } from "../../src/odata/value_hints.ts";
import type { Language } from "../../src/language.ts";
import TABLE from "./texts.json" with { type: "json" };

/** Escaped HTML. */
export type Html = ReturnType<typeof html>;
export type { Language };
export type Text = Readonly<Record<keyof typeof TABLE.texts, string>>;
export type GroupId = keyof typeof TABLE.groups;

/** A text that one language lacks is an error of the type check. */
type Translation = Readonly<Record<Language, string>>;
type Names = Readonly<Record<string, string>>;

/** Groups of characteristics, in the order of suggestions. */
export const GROUP_NAMES: Readonly<Record<GroupId, Translation>> = TABLE.groups;
export const FILTER_NAMES: Readonly<Record<string, Translation>> = TABLE.filters;
const TAGS: Names = { en: "en-CA", fr: "fr-CA" };

/** The texts of a language, and its notation of numbers, years and names. */
export type Locale = ReturnType<typeof createLocale>;

function createLocale(language: Language) {
  const isFrench = language === "fr";
  const text = Object.fromEntries(
    Object.entries(TABLE.texts).map(([name, row]) => [name, row[language]]),
  ) as Text;
  /** By options. Creating one takes longer than all numbers of a map. */
  const formats = new Map<string, Intl.NumberFormat>();

  /** Such as `1,234.5` or `1 234,5`. */
  function formatNumber(value: number, options?: Intl.NumberFormatOptions): string {
    const key = JSON.stringify(options ?? {});
    const format = formats.get(key) ?? new Intl.NumberFormat(TAGS[language], options);
    formats.set(key, format);
    return format.format(value);
  }
  /** Replaces `{name}` by values; numbers are formatted. */
  function fill(template: string, values: Readonly<Record<string, string | number>>): string {
    return template.replace(/\{(\w+)\}/g, (_, name) => {
      const value = values[name] ?? "";
      return typeof value === "number" ? formatNumber(value) : value;
    });
  }
  /** Returns the French name if DataStream's schema has one, else the name itself. */
  const translate = (name: string, french: Names) =>
    isFrench && Object.hasOwn(french, name) ? french[name]! : name;
  return {
    language,
    text,
    fill,
    formatNumber,
    /** Returns a number with its noun; French has the singular for zero, too. */
    formatPlural(name: keyof typeof TABLE.plurals, n: number): string {
      const isOne = n === 1 || n === 0 && isFrench;
      return fill(TABLE.plurals[name][language][isOne ? 0 : 1]!, { n });
    },
    /** Returns all digits of the service with the decimal sign of the language. */
    formatDigits: (digits: string) => isFrench ? digits.replace(".", ",") : digits,
    /** Such as `2015–2024` or `since 2015`; empty without years. */
    formatYears(first: string, last: string): string {
      if (first !== "" && last !== "") return [...new Set([first, last])].join("–");
      return first + last && fill(first ? text.since : text.until, { year: first || last });
    },
    /** Returns the short name of a month of a year; the first month is 0. */
    monthName(month: number): string {
      const options = { month: "short", timeZone: "UTC" } as const;
      return new Date(Date.UTC(2000, month)).toLocaleString(TAGS[language], options);
    },
    /** Such as `18 MB` or `0.2 Mo`. */
    formatBytes(bytes: number): string {
      const unit = bytes < 1e5 ? "kilobyte" : bytes < 1e9 ? "megabyte" : "gigabyte";
      const amount = bytes / { kilobyte: 1e3, megabyte: 1e6, gigabyte: 1e9 }[unit];
      const maximumFractionDigits = amount < 10 && unit !== "kilobyte" ? 1 : 0;
      return formatNumber(amount, { style: "unit", unit, maximumFractionDigits });
    },
    /** Such as `25 s` or `3 min`. */
    formatTime: (seconds: number) =>
      seconds < 90
        ? `${formatNumber(Math.max(1, Math.round(seconds)))} s`
        : `${formatNumber(Math.round(seconds / 60))} min`,
    characteristicName: (name: string) => translate(name, WORDS.french),
    valueName: (value: string) => translate(value, TABLE.frenchValues),
    /** Returns the name of a region, or its Id if it is not in the list. That of a hub must differ from locations. */
    regionName(id: string): string {
      const name = REGION_NAMES.get(id)?.[language] ?? id;
      return id.startsWith("hub.") && name !== id ? `${name} (${text.basin})` : name;
    },
  };
}

export const LOCALES: Readonly<Record<Language, Locale>> = {
  en: createLocale("en"),
  fr: createLocale("fr"),
};

/** Formats a time of ISO 8601 such as `2026-11-28 14:05 UTC`. */
export function formatMinute(time: string): string {
  return `${time.slice(0, 16).replace("T", " ")} UTC`;
}

/** Characters of `accept-language` that are read. */
const MAX_HEADER = 1_000;

/** By the parameter `lang`, else by the header `accept-language` (RFC 9110, 12.5.4). */
export function chooseLocale(wanted: string | null, header: string | null): Locale {
  if (wanted === "fr" || wanted === "en") return LOCALES[wanted];
  const headers = new Headers({ "accept-language": (header ?? "").slice(0, MAX_HEADER) });
  return acceptsLanguages({ headers }, "en", "fr") === "fr" ? LOCALES.fr : LOCALES.en;
}
