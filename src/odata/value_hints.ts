import { countEdits, MAX_SUGGESTIONS, suggestNames } from "../validation.ts";
// Values of DataStream's schema 3.0.0 (2026-07-14), and regions of DataStream Public API, "URL Parameters",
// `$filter`. The service can have more, so use the lists for suggestions and not for validation.
import CHARACTERISTICS from "./characteristics.json" with { type: "json" };
import WORDS from "./characteristic_words.json" with { type: "json" };
import REGIONS from "./regions.json" with { type: "json" };
import VALUES from "./values.json" with { type: "json" };
import type { Language } from "../language.ts";
import { type Clause, formatClauses } from "./clause.ts";

const FIELD_NOUNS = new Map([
  ["DOI", "dataset"],
  ["RegionId", "region"],
  ["CharacteristicName", "characteristic"],
  ["ActivityStartYear", "year"],
]);
const OPERATOR_WORDS = new Map([["eq", ""], ["in", ""], ["gte", " from"], ["lte", " up to"]]);
const MAX_VALUES = 3;

/** Returns a text such as `characteristic "pH"` or `year from 2010 up to 2019`. */
export function describeClauses(clauses: readonly Clause[]): string {
  const noun = FIELD_NOUNS.get(clauses[0]!.field);
  if (noun === undefined || clauses.some(({ operator }) => !OPERATOR_WORDS.has(operator))) {
    return formatClauses(clauses);
  }
  return noun + clauses.map(({ operator, values }) => {
    const names = values.slice(0, MAX_VALUES).map(({ text, quoted }) => {
      const region = noun === "region" ? REGION_NAMES.get(text)?.en : undefined;
      return (quoted ? `"${text}"` : text) + (region === undefined ? "" : ` (${region})`);
    });
    const others = values.length - names.length;
    if (others > 0) names.push(`${others} others`);
    return `${OPERATOR_WORDS.get(operator)} ${names.join(" or ")}`;
  }).join("");
}

export function hintValues(clauses: readonly Clause[]): string {
  const values = clauses.filter(({ operator }) => operator === "eq" || operator === "in")
    .flatMap(({ values }) => values.slice(0, MAX_VALUES));
  const hints = values.map(({ text }) => hintValue(clauses[0]!.field, text));
  return [...new Set(hints)].filter((hint) => hint !== "").join("; ");
}

function hintValue(field: string, value: string): string {
  const known = KNOWN_VALUES[field]?.map(([name]) => name!) ?? [value];
  if (known.includes(value)) return "";
  const near = nearValues(field, value);
  const hint = suggestNames(near) ?? "no documented name is similar";
  return near[0]?.toLowerCase() === value.toLowerCase()
    ? `values are case-sensitive, ${hint}`
    : hint;
}

/** Lists of value and, for regions, name. */
export const KNOWN_VALUES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  CharacteristicName: CHARACTERISTICS.map((name) => [name]),
  RegionId: Object.entries(REGIONS).map(([id, { en }]) => [id, en]),
  ...Object.fromEntries(
    Object.entries(VALUES).map(([field, values]) => [field, values.map((value) => [value])]),
  ),
};

export const REGION_NAMES: ReadonlyMap<string, Readonly<Record<Language, string>>> = new Map(
  Object.entries(REGIONS),
);

/** Texts that stand for values: `pe` and `prince edward island` for `admin.4.ca.pe`. */
const SYNONYMS: readonly (readonly [text: string, values: readonly string[]])[] = [
  ...Object.entries(WORDS.synonyms),
  ...Object.entries(REGIONS).flatMap(([id, { en, fr }]) => {
    // Locations have the names of hubs, too.
    const isHub = id.startsWith("hub.");
    const texts = isHub ? [`${en} basin`, `${fr} bassin`] : [id.slice(-2), en, fr];
    return texts.map((text) => [text, [id]] as const);
  }),
];
/** Values that many programs measure come first. */
const GROUPS: readonly (readonly string[])[] = [WORDS.common, WORDS.schema].flatMap(Object.values);
const GROUP_OF_VALUE = new Map(
  GROUPS.flatMap((values, group) => values.map((value) => [value, group] as const)).reverse(),
);

interface Entry {
  value: string;
  text: string;
  isSynonym: boolean;
  /** Number of the group in `GROUPS`. */
  group: number;
}

/** Returns texts that stand for values, in the order in which equally near ones are suggested. */
function* entriesOf(values: readonly string[]): Generator<Entry> {
  const searched = new Set(values);
  const toEntries = (name: string, value: string, isSynonym = false): Entry[] => {
    const group = GROUP_OF_VALUE.get(value) ?? GROUPS.length;
    return searched.has(value) ? [{ value, text: toText(name), isSynonym, group }] : [];
  };
  for (const name of Object.values(WORDS.common).flat()) yield* toEntries(name, name);
  for (const name of searched) yield* toEntries(name, name);
  for (const [name, text] of Object.entries(WORDS.french)) yield* toEntries(text, name);
  for (const [text, names] of SYNONYMS) {
    for (const name of names) yield* toEntries(text, name, true);
  }
}

/** Entries of known values by their text. */
type Index = ReadonlyMap<string, readonly Entry[]>;
const indices = new Map<string, Index>();

function indexOf(field: string): Index {
  const known = indices.get(field);
  if (known !== undefined) return known;
  const index = new Map<string, Entry[]>();
  for (const entry of entriesOf(KNOWN_VALUES[field]!.map(([value]) => value!))) {
    index.set(entry.text, [...index.get(entry.text) ?? [], entry]);
  }
  indices.set(field, index);
  return index;
}

/** In lower case, without marks. */
export function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** No value is longer. */
const MAX_SEARCHED = 200;

/**
 * Returns the words in lower case and without marks, with a space between them. A negation is one word with what it
 * negates: `unionized` for `un-ionized`.
 */
function toText(text: string): string {
  return fold(text.slice(0, MAX_SEARCHED))
    .replace(/\b(?:(in)-|(un|non)[- ])(?=\p{L})/gu, "$1$2")
    .replace(/[^\p{L}\d]+/gu, " ").trim();
}

function entriesMeant(field: string, text: string): readonly Entry[] {
  return indexOf(field).get(toText(text)) ?? [];
}

function valuesOf(entries: readonly Entry[]): readonly string[] {
  return [...new Set(entries.map(({ value }) => value))];
}

/** The value with this English or French name, in any case; else those with this synonym. */
export function valuesMeant(field: string, text: string): readonly string[] {
  const entries = entriesMeant(field, text);
  const named = entries.filter(({ isSynonym }) => !isSynonym);
  return valuesOf(named.length > 0 ? named : entries);
}

/** At most three values that a text may mean; only those with this name or synonym if there are any. */
export function nearValues(field: string, text: string): readonly string[] {
  const meant = valuesOf(entriesMeant(field, text));
  return (meant.length > 0 ? meant : searchValues(field, text)).slice(0, MAX_SUGGESTIONS);
}

/**
 * Finds values with a text in their names or synonyms: first those that are the text, then those that begin with it,
 * have all its words, or contain it. Common and short names come first.
 *
 * @param values Values to search. Default: the known ones
 */
export function valuesWith(
  field: string,
  text: string,
  values?: readonly string[],
): readonly string[] {
  return rankValues(field, text, values, distanceToPart);
}

/** {@linkcode valuesWith}; without any of these, finds other spellings. */
export function searchValues(
  field: string,
  text: string,
  values?: readonly string[],
): readonly string[] {
  const found = valuesWith(field, text, values);
  return found.length > 0 ? found : rankValues(field, text, values, distanceToSpelling);
}

/** Returns a function of the distance to another text; infinite if it is not meant. */
type Distance = (wanted: string, words: readonly string[]) => (text: string) => number;

const distanceToPart: Distance = (wanted, words) => (text) => {
  if (text.startsWith(wanted)) return text === wanted ? 0 : 1;
  // Most texts of a long list end here.
  if (!words.every((word) => text.includes(word))) return Infinity;
  const edits = sumEdits(words, text, (word, other) => other.startsWith(word) ? 0 : Infinity);
  if (edits === 0) return 2;
  return isInside(wanted, text) ? 3 : Infinity;
};

const distanceToSpelling: Distance = (_, words) => (text) => sumEdits(words, text, editsToWord);

function rankValues(
  field: string,
  text: string,
  values: readonly string[] | undefined,
  distance: Distance,
): readonly string[] {
  const wanted = toText(text);
  if (wanted === "") return [];
  const distanceTo = distance(wanted, wanted.split(" "));
  const near: (Entry & { distance: number })[] = [];
  for (const entries of values === undefined ? indexOf(field).values() : [entriesOf(values)]) {
    for (const entry of entries) {
      const distance = distanceTo(entry.text);
      if (distance < Infinity) near.push({ ...entry, distance });
    }
  }
  near.sort((a, b) =>
    a.distance - b.distance ||
    // Those that are the text have the order of the table.
    Math.sign(a.distance) * (a.group - b.group || a.text.length - b.text.length)
  );
  return valuesOf(near);
}

/** Parts of words that make the opposite. */
const NEGATION = /^(?:in|un|non)/;
/** Words that another spelling must not add. */
const QUALIFIER = /^(?:in|un|non|total|totaux|dissolved|dissous)/;

/** Each wanted word must have another word. */
function sumEdits(
  wanted: readonly string[],
  text: string,
  editsOf: (unknown: string, word: string) => number,
): number {
  const others = text.split(" ");
  let sum = 0;
  for (const unknown of wanted) {
    const edits = others.map((word) => editsOf(unknown, word));
    const least = Math.min(...edits);
    if (least === Infinity) return Infinity;
    others.splice(edits.indexOf(least), 1);
    sum += least;
  }
  return sum > 0 && others.some((word) => QUALIFIER.test(word)) ? Infinity : sum;
}

function editsToWord(unknown: string, word: string): number {
  if (word.startsWith(unknown)) return 0;
  const edits = countEdits(unknown, word);
  const negationOf = (text: string) => NEGATION.exec(text)?.[0];
  const isOpposite = edits < Infinity && negationOf(unknown) !== negationOf(word) &&
    countEdits(unknown.replace(NEGATION, ""), word.replace(NEGATION, "")) < edits;
  return isOpposite ? Infinity : edits;
}

/** `organic` is not inside `inorganic`, its opposite. */
function isInside(wanted: string, text: string): boolean {
  return text.split(wanted).slice(0, -1).some((before) => !/(?:^| )(?:in|un|non)$/.test(before));
}
