// Names of characteristics in the page: groups, French names and suggestions. None of them is a reason to refuse a name.
import TABLE from "../../src/odata/characteristic_words.json" with { type: "json" };
import { fold, searchValues, valuesMeant } from "../../src/odata/value_hints.ts";
import { nearNames } from "../../src/validation.ts";
import { GROUP_NAMES, type GroupId, type Locale } from "./text.ts";

const FIELD = "CharacteristicName";
const COMMON: Readonly<Record<string, readonly string[]>> = TABLE.common;
const OF_SCHEMA: Readonly<Record<string, readonly string[]>> = TABLE.schema;
const GROUPS = Object.keys(GROUP_NAMES) as GroupId[];

/** By their names in both languages, as `fold()` returns them. */
const GROUPS_BY_NAME = new Map(
  GROUPS.flatMap((id) => Object.values(GROUP_NAMES[id]).map((name) => [fold(name), id])),
);

/** What a text of the form means. */
export interface FoundCharacteristic {
  /** Names for the filter; the text itself if it is not in the list. */
  names: readonly string[];
  group?: GroupId;
  isKnown: boolean;
}

/** Accepts a name in any case, its French name, a synonym, or the name of a group. Other texts are names themselves. */
export function findCharacteristic(text: string): FoundCharacteristic {
  const group = GROUPS_BY_NAME.get(fold(text));
  if (group) return { names: COMMON[group] ?? OF_SCHEMA[group]!, group, isKnown: true };
  const names = valuesMeant(FIELD, text);
  return names.length > 0 ? { names, isKnown: true } : { names: [text], isKnown: false };
}

/** Returns the names in a text such as `pH, nitrate`; the text itself if it is one name, or a part is not in the list. */
export function splitNames(text: string): readonly string[] {
  const parts = text.split(/[,;]|\s(?:and|et)\s/i);
  const isKnown = (part: string) => findCharacteristic(part).isKnown;
  return !isKnown(text) && parts.every(isKnown) ? parts : [text];
}

/** Returns the texts that are not in the list. The filter has them as they are: the service can have more names. */
export function unknownNames(texts: readonly string[]): readonly string[] {
  return texts.filter((text) => !findCharacteristic(text).isKnown);
}

/** Names and groups that a text may mean, the nearest first. */
export function nearCharacteristics(text: string, { language }: Locale): readonly string[] {
  const groups = nearNames(fold(text), [...GROUPS_BY_NAME.keys()])
    .map((name) => GROUP_NAMES[GROUPS_BY_NAME.get(name)!][language]);
  // A group comes first, unless the text itself is a name.
  const names = [...valuesMeant(FIELD, text), ...groups, ...searchValues(FIELD, text)];
  return [...new Set(names)];
}

/** Returns the name of what a text means; the text itself for several characteristics. */
export function nameInForm(text: string, { language, characteristicName }: Locale): string {
  const { names, group } = findCharacteristic(text);
  if (group !== undefined) return GROUP_NAMES[group][language];
  return names.length === 1 ? characteristicName(names[0]!) : text;
}

/** Names of the reviewed table, which are suggested without a script. */
export function commonNames(): readonly string[] {
  return Object.values(COMMON).flat();
}

const GROUP_OF_NAME = new Map(
  GROUPS.flatMap((id) => [...COMMON[id] ?? [], ...OF_SCHEMA[id] ?? []].map((name) => [name, id])),
);

/** Returns the name of the group of a characteristic, or of the group itself. */
export function groupName(name: string, { language, text }: Locale): string {
  const { group = GROUP_OF_NAME.get(name) } = findCharacteristic(name);
  return group === undefined ? text.other : GROUP_NAMES[group][language];
}
