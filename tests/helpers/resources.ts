import { type FileFormat, FORMATS, formatsOf as fileFormatsOf } from "../../src/formats/formats.ts";
import { type Field, type FormatName, type ResourceName, RESOURCES } from "../../mod.ts";

export function fieldsOf<R extends ResourceName>(resource: R): Field<R>[] {
  return Object.keys(RESOURCES[resource].fields) as Field<R>[];
}

export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly ResourceName[];

/**
 * The table of formats, which no entry point exports. Tests that repeat for each format use it, so that
 * they also cover a new format.
 */
export { FORMATS } from "../../src/formats/formats.ts";

export type TextFormat = Exclude<FormatName, "csv.gz">;

/** Names of the formats that are text, which tests compare as text. */
export const FORMAT_NAMES: readonly TextFormat[] = (Object.keys(FORMATS) as FileFormat[])
  .filter(isText);

export function formatsOf(resource: ResourceName): TextFormat[] {
  return fileFormatsOf(resource).filter(isText);
}

function isText(format: FileFormat): format is TextFormat {
  return !FORMATS[format].isBinary;
}
