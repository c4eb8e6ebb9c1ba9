import { countEdits, MAX_SUGGESTIONS, suggestNames } from "../validation.ts";
// Values of DataStream's schema 3.0.0 (2026-07-14), and regions of DataStream Public API, "URL Parameters",
// `$filter`. The service can have more, so use the lists for suggestions and not for validation.
import CHARACTERISTICS from "./characteristics.json" with { type: "json" };
import WORDS from "./characteristic_words.json" with { type: "json" };
import REGIONS from "./regions.json" with { type: "json" };
import VALUES from "./values.json" with { type: "json" };
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
      const region = noun === "region" ? REGION_NAMES.get(text) : undefined;
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
  RegionId: Object.entries(REGIONS),
  ...Object.fromEntries(
    Object.entries(VALUES).map(([field, values]) => [field, values.map((value) => [value])]),
  ),
};

export const REGION_NAMES: ReadonlyMap<string, string> = new Map(Object.entries(REGIONS));

/** Texts that stand for values: `pe` and `prince edward island` for `admin.4.ca.pe`. */
const SYNONYMS: readonly (readonly [text: string, values: readonly string[]])[] = [
  ...Object.entries(WORDS.synonyms),
  ...Object.entries(REGIONS).flatMap(([id, name]) =>
    [id.slice(id.lastIndexOf(".") + 1), name].map((text) => [text, [id]] as const)
  ),
];
/** Groups of values that many programs measure. */
const COMMON: readonly (readonly string[])[] = Object.values(WORDS.common);

interface Entry {
  value: string;
  text: string;
  words: readonly string[];
  isSynonym: boolean;
  /** Number of the group in `COMMON`. */
  group: number;
}

/** By text, in the order in which equally near ones are suggested. */
type Index = ReadonlyMap<string, readonly Entry[]>;

function createIndex(values: readonly string[]): Index {
  const searched = new Set(values);
  const index = new Map<string, Entry[]>();
  const add = (name: string, value: string, isSynonym = false) => {
    if (!searched.has(value)) return;
    const words = toWords(name);
    const text = words.join(" ");
    const group = COMMON.findIndex((names) => names.includes(value));
    const entry = { value, text, words, isSynonym, group: group < 0 ? COMMON.length : group };
    index.set(text, [...index.get(text) ?? [], entry]);
  };
  for (const name of [...COMMON.flat(), ...values]) add(name, name);
  for (const [name, text] of Object.entries(WORDS.french)) add(text, name);
  for (const [text, names] of SYNONYMS) for (const name of names) add(text, name, true);
  return index;
}

const knownIndices = new Map<string, Index>();

function indexOf(field: string): Index {
  const index = knownIndices.get(field) ??
    createIndex(KNOWN_VALUES[field]!.map(([value]) => value!));
  knownIndices.set(field, index);
  return index;
}

/** In lower case, without marks. */
export function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** No value is longer. */
const MAX_SEARCHED = 200;

/** A negation is one word with what it negates: `unionized` for `un-ionized`. */
function toWords(text: string): string[] {
  return fold(text.slice(0, MAX_SEARCHED))
    .replace(/\b(?:(in)-|(un|non)[- ])(?=\p{L})/gu, "$1$2")
    .split(/[^\p{L}\d]+/u).filter((word) => word !== "");
}

function entriesMeant(field: string, text: string): readonly Entry[] {
  return indexOf(field).get(toWords(text).join(" ")) ?? [];
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
 * Finds values by their names and synonyms: first those that are the text, then those that begin with it, have all its
 * words, or contain it. Without any of these, finds other spellings. Common and short names come first.
 *
 * @param values Values to search. Default: the known ones
 */
export function searchValues(
  field: string,
  text: string,
  values?: readonly string[],
): readonly string[] {
  const words = toWords(text);
  if (words.length === 0) return [];
  const wanted = words.join(" ");
  const distanceTo = (entry: Entry) => {
    if (entry.text === wanted) return 0;
    if (entry.text.startsWith(wanted)) return 1;
    const edits = sumEdits(words, entry.words);
    if (edits === 0) return 2;
    return isInside(wanted, entry.text) ? MAX_DISTANCE_OF_PART : MAX_DISTANCE_OF_PART + edits;
  };
  const index = values === undefined ? indexOf(field) : createIndex(values);
  const near = [...index.values()].flat()
    .map((entry) => ({ ...entry, distance: distanceTo(entry) }))
    .filter(({ distance }) => distance < Infinity)
    .sort((a, b) =>
      a.distance - b.distance ||
      // Those that are the text have the order of the table.
      Math.sign(a.distance) * (a.group - b.group || a.text.length - b.text.length)
    );
  const parts = near.filter(({ distance }) => distance <= MAX_DISTANCE_OF_PART);
  return valuesOf(parts.length > 0 ? parts : near);
}

/** Distance to a text that contains the wanted one; other spellings have more. */
const MAX_DISTANCE_OF_PART = 3;

/** Parts of words that make the opposite. */
const NEGATION = /^(?:in|un|non)/;
/** Words that another spelling must not add. */
const QUALIFIER = /^(?:in|un|non|total|totaux|dissolved|dissous)/;

/** Each wanted word must begin another word, or be spelled like it. */
function sumEdits(wanted: readonly string[], words: readonly string[]): number {
  const others = [...words];
  let sum = 0;
  for (const unknown of wanted) {
    const edits = others.map((word) => editsToWord(unknown, word));
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
