import type { ResourceName } from "../odata/resources.ts";
import { RESOURCE_COMMANDS } from "./commands.ts";
import { commandHint } from "./near_misses.ts";
import { UsageError } from "./usage_error.ts";

/** The resource of a name as it is typed. */
export function readResource(name: string | undefined): ResourceName {
  const names: Record<string, ResourceName> = RESOURCE_COMMANDS;
  const resource = name === undefined || !Object.hasOwn(names, name) ? undefined : names[name];
  if (resource !== undefined) return resource;
  throw new UsageError(
    `There is no resource "${name}": ${commandHint(String(name), Object.keys(names))}`,
  );
}
