import GROUPS from "./regions.json" with { type: "json" };

/**
 * The service can have more: use it for suggestions, not for validation. Source: DataStream Public
 * API, "URL Parameters", `$filter`.
 */
export const REGIONS: readonly (readonly [label: string, regions: Record<string, string>])[] =
  Object.entries(GROUPS);

export const REGION_NAMES: Readonly<Record<string, string>> = Object.assign(
  {},
  ...Object.values(GROUPS),
);

export function regionName(id: string): string | undefined {
  return Object.hasOwn(REGION_NAMES, id) ? REGION_NAMES[id] : undefined;
}
