// Names of characteristics: suggestions, groups, French names and synonyms. None of them is a reason to refuse a name.
import { KNOWN_VALUES } from "../../src/odata/value_hints.ts";
import { nearNames } from "../../src/validation.ts";
import TABLE from "./characteristics.json" with { type: "json" };
import type { Language } from "./text.ts";
import { fold, GROUP_NAMES, type GroupId } from "./text.ts";

const NAMES = KNOWN_VALUES.CharacteristicName!.map(([name]) => name!);
const FRENCH: Readonly<Record<string, string>> = TABLE.french;
const COMMON: Readonly<Record<string, readonly string[]>> = TABLE.common;
const OF_SCHEMA: Readonly<Record<string, readonly string[]>> = TABLE.schema;
const GROUPS = Object.keys(GROUP_NAMES.en) as GroupId[];

/** What a text of the form means. */
export interface FoundCharacteristic {
  /** Names for the filter; the text itself if it is not in the list. */
  names: readonly string[];
  group?: GroupId;
  isKnown: boolean;
}

/** By text in lower case and without marks. A later meaning of a text replaces an earlier one. */
const MEANINGS = new Map<string, FoundCharacteristic>();
const addMeaning = (text: string, names: readonly string[], group?: GroupId) =>
  MEANINGS.set(fold(text), { names, ...(group && { group }), isKnown: true });
for (const [synonym, names] of Object.entries(TABLE.synonyms)) addMeaning(synonym, names);
for (const [name, french] of Object.entries(FRENCH)) addMeaning(french, [name]);
for (const name of NAMES) addMeaning(name, [name]);
for (const id of GROUPS) {
  const names = COMMON[id] ?? OF_SCHEMA[id]!;
  for (const label of [GROUP_NAMES.en[id], GROUP_NAMES.fr[id]]) addMeaning(label, names, id);
}

/** Accepts a name in any case, its French name, a synonym, or the name of a group. Other texts are names themselves. */
export function findCharacteristic(text: string): FoundCharacteristic {
  return MEANINGS.get(fold(text)) ?? { names: [text], isKnown: false };
}

const MAX_NEAR = 3;

/** All names, the common ones first, with their text in lower case and without marks. */
const FOLDED = [...new Set([...commonNames(), ...NAMES])].map((name) =>
  [name, fold(name)] as const
);

/** Names and groups that a text may mean: by a part of a name, by spelling, or by a word of a name. */
export function nearCharacteristics(text: string): readonly string[] {
  const wanted = fold(text);
  const isWord = (word: string) => word.length > 3 && nearNames(wanted, [word]).length > 0;
  const namesBy = (isNear: (folded: string) => boolean) =>
    FOLDED.filter(([, folded]) => isNear(folded)).map(([name]) => name);
  const bySpelling = nearNames(wanted, [...MEANINGS.keys()]).flatMap((near) => {
    const { names, group } = MEANINGS.get(near)!;
    return group === undefined ? names : GROUP_NAMES.en[group];
  });
  const byPart = namesBy((folded) => folded.includes(wanted));
  const byWord = namesBy((folded) => folded.split(/[^\p{L}\d]+/u).some(isWord));
  return [...new Set([...byPart, ...bySpelling, ...byWord])].slice(0, MAX_NEAR);
}

/** The French name if the schema has one, else the name itself. */
export function characteristicName(name: string, language: Language): string {
  return language === "fr" && Object.hasOwn(FRENCH, name) ? FRENCH[name]! : name;
}

/** Returns the name of what a text means; the text itself for several characteristics. */
export function nameInForm(text: string, language: Language): string {
  const { names, group } = findCharacteristic(text);
  if (group !== undefined) return GROUP_NAMES[language][group];
  return names.length === 1 ? characteristicName(names[0]!, language) : text;
}

/** Names of the reviewed table, which are suggested without a script. */
export function commonNames(): readonly string[] {
  return Object.values(COMMON).flat();
}

const NAMES_BY_GROUP: readonly (readonly [GroupId | undefined, readonly string[]])[] = groupNames();

function groupNames() {
  const groups = GROUPS.map((id) => [id, [...COMMON[id] ?? [], ...OF_SCHEMA[id] ?? []]] as const);
  const grouped = new Set(groups.flatMap(([, names]) => names));
  return [...groups, [undefined, NAMES.filter((name) => !grouped.has(name))] as const];
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
  const isPart = (name: string) => fold(name).includes(wanted);
  const first = new Set([
    ...isKnown && group === undefined ? meant : [],
    ...Object.values(GROUP_NAMES[language]).filter((label) => fold(label).startsWith(wanted)),
  ]);
  // Enter takes the first name, so names that only contain the text come after those that it begins.
  const begun = [...MEANINGS].filter(([meaning, { group }]) =>
    group === undefined && meaning.startsWith(wanted)
  );
  const best = [...new Set([...first, ...begun.flatMap(([, { names }]) => names)])];
  const ranks = new Map(best.map((name, rank) => [name, rank]));
  const rankOf = (name: string) => ranks.get(name) ?? ranks.size;
  const found = NAMES_BY_GROUP.map(([id, ofGroup]) => {
    const label = id === undefined ? "" : GROUP_NAMES[language][id];
    const names = [...label ? [label] : [], ...ofGroup]
      .filter((name) => ranks.has(name) || isPart(name) || isPart(FRENCH[name] ?? ""))
      .sort((a, b) => rankOf(a) - rankOf(b));
    return { label, names, isFirst: names.some((name) => first.has(name)) };
  }).sort((a, b) => Number(b.isFirst) - Number(a.isFirst));
  let more = 0;
  let room = MAX_SUGGESTED;
  const groups = found.map(({ label, names }) => {
    const shown = names.slice(0, Math.min(MAX_OF_GROUP, room));
    room -= shown.length;
    more += names.length - shown.length;
    return { label, names: shown };
  });
  return { groups: groups.filter(({ names }) => names.length > 0), more };
}
