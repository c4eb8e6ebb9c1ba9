// Names of characteristics: suggestions, groups, French names and synonyms. None of them is a reason to refuse a name.
import { KNOWN_VALUES } from "../../src/odata/value_hints.ts";
import { nearNames } from "../../src/validation.ts";
import TABLE from "./characteristics.json" with { type: "json" };
import type { Language } from "./text.ts";
import { fold, GROUP_NAMES, type GroupId } from "./text.ts";

const NAMES = KNOWN_VALUES.CharacteristicName!.map(([name]) => name!);
const FRENCH: Readonly<Record<string, string>> = TABLE.french;
const SYNONYMS: Readonly<Record<string, readonly string[]>> = TABLE.synonyms;
const COMMON: Readonly<Record<string, readonly string[]>> = TABLE.common;
const OF_SCHEMA: Readonly<Record<string, readonly string[]>> = TABLE.schema;
const GROUPS = Object.keys(GROUP_NAMES.en) as GroupId[];

/** Names by their text, in lower case and without marks: the English and the French ones. */
const BY_TEXT = new Map([
  ...Object.entries(FRENCH).map(([name, french]) => [fold(french), name] as const),
  ...NAMES.map((name) => [fold(name), name] as const),
]);

/** What a text of the form means. */
export interface FoundCharacteristic {
  /** Names for the filter; the text itself if it is not in the list. */
  names: readonly string[];
  group?: GroupId;
  isKnown: boolean;
}

/** Accepts a name in any case, its French name, a synonym, or the name of a group. Other texts are names themselves. */
export function findCharacteristic(text: string): FoundCharacteristic {
  const wanted = fold(text);
  if (NAMES.includes(text)) return { names: [text], isKnown: true };
  const group = GROUPS.find((id) =>
    wanted === fold(GROUP_NAMES.en[id]) || wanted === fold(GROUP_NAMES.fr[id])
  );
  if (group !== undefined) {
    return { names: COMMON[group] ?? OF_SCHEMA[group]!, group, isKnown: true };
  }
  const name = BY_TEXT.get(wanted);
  if (name !== undefined) return { names: [name], isKnown: true };
  const synonym = Object.keys(SYNONYMS).find((key) => fold(key) === wanted);
  if (synonym !== undefined) return { names: SYNONYMS[synonym]!, isKnown: true };
  return { names: [text], isKnown: false };
}

const MAX_NEAR = 3;

/** All names, the common ones first, with their text in lower case and without marks. */
const FOLDED = [...new Set([...commonNames(), ...NAMES])].map((name) =>
  [name, fold(name)] as const
);

/** Names that a text may mean: by spelling, by a word of the name, or by its beginning. */
export function nearCharacteristics(text: string): readonly string[] {
  const wanted = fold(text);
  const containing = FOLDED.filter(([, folded]) => folded.includes(wanted)).map(([name]) => name);
  const bySpelling = nearNames(text, NAMES).slice(0, MAX_NEAR);
  const byWord = FOLDED.filter(([, folded]) =>
    folded.split(/[^\p{L}\d]+/u).some((word) =>
      word.length > 3 && nearNames(wanted, [word]).length > 0
    )
  ).map(([name]) => name);
  return [...new Set([...containing, ...byWord, ...bySpelling])].slice(0, MAX_NEAR);
}

/** The French name if the schema has one, else the name itself. */
export function characteristicName(name: string, language: Language): string {
  return language === "fr" && Object.hasOwn(FRENCH, name) ? FRENCH[name]! : name;
}

/** Names of the reviewed table, which are suggested without a script. */
export function commonNames(): readonly string[] {
  return Object.values(COMMON).flat();
}

const NAMES_BY_GROUP = groupNames();

function groupNames(): { id: GroupId | undefined; names: string[] }[] {
  const groups = GROUPS.map((id) => ({ id, names: [...COMMON[id] ?? [], ...OF_SCHEMA[id] ?? []] }));
  const grouped = new Set(groups.flatMap(({ names }) => names));
  return [...groups, { id: undefined, names: NAMES.filter((name) => !grouped.has(name)) }];
}

const MAX_SUGGESTED = 12;
const MAX_OF_GROUP = 5;

export interface Suggestions {
  groups: { label: string; names: readonly string[] }[];
  more: number;
}

/** Finds names, and names of groups, by any part of them. What the text itself means comes first. */
export function suggestCharacteristics(text: string, language: Language): Suggestions {
  const wanted = fold(text);
  const { names: meant, isKnown, group } = findCharacteristic(text);
  const exact = isKnown && group === undefined ? meant : [];
  const contains = (name: string) =>
    fold(name).includes(wanted) || fold(FRENCH[name] ?? "").includes(wanted);
  const found = NAMES_BY_GROUP.map(({ id, names }) => {
    const label = id === undefined ? "" : GROUP_NAMES[language][id];
    const first = names.filter((name) => exact.includes(name));
    const others = names.filter((name) => !exact.includes(name) && contains(name));
    if (label !== "" && fold(label).includes(wanted)) first.push(label);
    return { label, names: [...first, ...others], isMeant: first.length > 0 };
  }).sort((a, b) => Number(b.isMeant) - Number(a.isMeant));
  let room = MAX_SUGGESTED;
  const groups = found.map(({ label, names }) => {
    const shown = names.slice(0, Math.min(MAX_OF_GROUP, room));
    room -= shown.length;
    return { label, names: shown };
  }).filter(({ names }) => names.length > 0);
  const total = found.reduce((sum, { names }) => sum + names.length, 0);
  return { groups, more: total - (MAX_SUGGESTED - room) };
}
