import { type Field, type ResourceName, RESOURCES } from "../../mod.ts";

/** Returns the names of a resource's fields in documented order. */
export function fieldsOf<R extends ResourceName>(resource: R): Field<R>[] {
  return Object.keys(RESOURCES[resource].fields) as Field<R>[];
}

/** Names of all resources. */
export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly ResourceName[];
