import { type Field, type ResourceName, RESOURCES } from "../../mod.ts";

/** Returns the names of a resource's fields in documented order. */
export function fieldsOf<R extends ResourceName>(resource: R): Field<R>[] {
  return Object.keys(RESOURCES[resource].fields) as Field<R>[];
}

/** Names of all resources. */
export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly ResourceName[];

/**
 * The table of formats, which no entry point exports. Tests that repeat for each format use it, so that
 * they also cover a new format.
 */
export { FORMAT_NAMES, FORMAT_SYNONYMS, FORMATS, formatsOf } from "../../src/formats/formats.ts";
