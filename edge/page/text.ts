// The texts of the page in English and French. French names of characteristics are those of DataStream's schema.
import { KNOWN_VALUES } from "../../src/odata/value_hints.ts";
import TABLE from "./texts.json" with { type: "json" };
import { fill, formatNumber, type Language, valueName } from "./drawing_text.ts";

export { fill, formatNumber, type Language, valueName };

type Texts = typeof TABLE;
export type Text = Texts["en"];
export type GroupId = keyof Texts["groups"]["en"];

/** A text that one language lacks is an error of the type check. */
export const TEXTS: Readonly<Record<Language, Text>> = TABLE;
/** Groups of characteristics, in the order of suggestions. */
export const GROUP_NAMES: Readonly<Record<Language, Readonly<Record<GroupId, string>>>> =
  TABLE.groups;
/** Nouns of the fields that the form filters by. */
export const FILTER_NAMES: Readonly<Record<Language, Readonly<Record<string, string>>>> =
  TABLE.filters;
const FRENCH_REGIONS: Readonly<Record<string, string>> = TABLE.frenchRegions;

const BASIN: Record<Language, (name: string) => string> = {
  en: (name) => `${name} (basin)`,
  fr: (name) => `${name} (bassin)`,
};

/** Regions by Id, with their names for the form. A hub has a name of its own, so that it differs from locations. */
export function regionsIn(language: Language): [id: string, name: string][] {
  return KNOWN_VALUES.RegionId!.map(([id = "", name = ""]) => {
    const local = language === "fr" ? FRENCH_REGIONS[id] ?? name : name;
    return [id, id.startsWith("hub.") ? BASIN[language](local) : local];
  });
}

/** Accepts the Id or the name in either language, in any case. */
export function findRegion(text: string): string | undefined {
  const wanted = fold(text);
  for (const language of ["en", "fr"] as const) {
    const found = regionsIn(language).find(([id, name]) => id === text || fold(name) === wanted);
    if (found) return found[0];
  }
  const [, short] = /^pei$/i.test(text) ? ["", "admin.4.ca.pe"] : [];
  return short;
}

/** In lower case, and without marks such as accents. */
export function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** Such as `18 MB` or `0.2 Mo`. */
export function formatBytes(bytes: number, language: Language): string {
  const [units, divisors] = [language === "fr" ? ["ko", "Mo", "Go"] : ["kB", "MB", "GB"], [
    1e3,
    1e6,
    1e9,
  ]];
  const index = bytes < 1e5 ? 0 : bytes < 1e9 ? 1 : 2;
  const amount = bytes / divisors[index]!;
  const digits = amount < 10 && index > 0 ? 1 : 0;
  const text = formatNumber(amount, language, { maximumFractionDigits: digits });
  return `${text} ${units[index]}`;
}

/** Such as `25 s` or `3 min`. */
export function formatTime(seconds: number, language: Language): string {
  return seconds < 90
    ? `${formatNumber(Math.max(1, Math.round(seconds)), language)} s`
    : `${formatNumber(Math.round(seconds / 60), language)} min`;
}

/** By the parameter `lang`, else by the header `accept-language` (RFC 9110, 12.5.4). */
export function chooseLanguage(wanted: string | null, header: string | null): Language {
  if (wanted === "fr" || wanted === "en") return wanted;
  const ranked = (header ?? "").slice(0, 1_000).split(",").map((part) => {
    const [tag = "", quality] = part.trim().split(/\s*;\s*q=/);
    return {
      tag: tag.slice(0, 2).toLowerCase(),
      quality: quality === undefined ? 1 : Number(quality) || 0,
    };
  }).filter(({ tag, quality }) => (tag === "fr" || tag === "en") && quality > 0);
  const best = ranked.sort((a, b) => b.quality - a.quality)[0];
  return best?.tag === "fr" ? "fr" : "en";
}
