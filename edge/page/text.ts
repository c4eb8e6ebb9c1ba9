// The texts of the page in English and French. French names of characteristics are those of DataStream's schema.
import { KNOWN_VALUES } from "../../src/odata/value_hints.ts";
import TABLE from "./texts.json" with { type: "json" };
import { byLanguage, fill, formatNumber, type Language, valueName } from "./drawing_text.ts";

export { fill, formatNumber, type Language, valueName };

export type Text = Readonly<Record<keyof typeof TABLE.texts, string>>;
export type GroupId = keyof typeof TABLE.groups;

export const TEXTS: Readonly<Record<Language, Text>> = byLanguage(TABLE.texts);
/** Groups of characteristics, in the order of suggestions. */
export const GROUP_NAMES: Readonly<Record<Language, Readonly<Record<GroupId, string>>>> =
  byLanguage(TABLE.groups);
export const FILTER_NAMES: Readonly<Record<Language, Readonly<Record<string, string>>>> =
  byLanguage(TABLE.filters);
const FRENCH_REGIONS: Readonly<Record<string, string>> = TABLE.frenchRegions;

/** Regions by Id, with their names for the form. A hub has a name of its own, so that it differs from locations. */
export function regionsIn(language: Language): [id: string, name: string][] {
  return KNOWN_VALUES.RegionId!.map(([id = "", name = ""]) => {
    const local = language === "fr" ? FRENCH_REGIONS[id] ?? name : name;
    return [id, id.startsWith("hub.") ? `${local} (${TEXTS[language].basin})` : local];
  });
}

/** Accepts the Id or the name in either language, in any case. */
export function findRegion(text: string): string | undefined {
  const wanted = fold(text);
  if (wanted === "pei") return "admin.4.ca.pe";
  return [...regionsIn("en"), ...regionsIn("fr")]
    .find(([id, name]) => id === text || fold(name) === wanted)?.[0];
}

export function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** Such as `18 MB` or `0.2 Mo`. */
export function formatBytes(bytes: number, language: Language): string {
  const index = bytes < 1e5 ? 0 : bytes < 1e9 ? 1 : 2;
  const amount = bytes / 1000 ** (index + 1);
  const digits = amount < 10 && index > 0 ? 1 : 0;
  const unit = (language === "fr" ? ["ko", "Mo", "Go"] : ["kB", "MB", "GB"])[index];
  return `${formatNumber(amount, language, { maximumFractionDigits: digits })} ${unit}`;
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
  const quality = { en: 0, fr: 0 };
  for (const [index, part] of (header ?? "").slice(0, 1_000).split(",").entries()) {
    const [tag = "", weight = "1"] = part.trim().split(/\s*;\s*q=/);
    const language = tag.slice(0, 2).toLowerCase();
    if (language !== "en" && language !== "fr") continue;
    // Of languages with equal weights, the first one is preferred.
    quality[language] = Math.max(quality[language], (Number(weight) || 0) - index / 1e6);
  }
  return quality.fr > quality.en ? "fr" : "en";
}
