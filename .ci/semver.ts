import { compare, type SemVer, tryParse } from "@std/semver";

/**
 * Returns why a version cannot be released, and what to do; `undefined` if it can.
 *
 * @param version The new version
 * @param current Version in `jsr.json`
 * @param isReleased Whether the current version is released
 */
export function versionProblem(
  version: string,
  current: string,
  isReleased: boolean,
): string | undefined {
  const parsed = tryParse(version);
  // `tryParse()` accepts a leading "v". Registries ignore the build, so it cannot tell versions apart.
  if (parsed === undefined || !/^\d/.test(version) || version.includes("+")) {
    return `"${version}" is not a version: write one such as 1.2.0, or 1.2.0-rc.1 for a pre-release`;
  }
  const old = tryParse(current)!;
  if (isReleased) {
    return compare(parsed, old) > 0
      ? undefined
      : `${version} is not greater than ${current}, which is released: choose a greater version`;
  }
  // A pre-release of the current version is smaller than it.
  return compare({ ...parsed, prerelease: [] }, { ...old, prerelease: [] }) >= 0 &&
      (!isPreRelease(current) || compare(parsed, old) >= 0)
    ? undefined
    : `${version} is smaller than ${current}, the version in development: choose ${current}, a ` +
      "pre-release of it, or a greater version";
}

/** Whether a version is a pre-release, such as 1.2.0-rc.1. */
export function isPreRelease(version: string): boolean {
  const { prerelease = [] }: Partial<SemVer> = tryParse(version) ?? {};
  return prerelease.length > 0;
}
