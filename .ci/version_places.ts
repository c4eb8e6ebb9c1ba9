import jsr from "../jsr.json" with { type: "json" };

/** A text that names the version of the package. */
interface VersionPlace {
  path: RegExp;
  /** The text, with {} in place of the version. */
  text: string;
}

/** Every place that names the version of the package. `deno task release` sets it in all of them. */
const PLACES: readonly VersionPlace[] = [
  { path: /^jsr\.json$/, text: '"version": "{}"' },
  { path: /^src\/version\.ts$/, text: 'VERSION = "{}"' },
  { path: /^(?!docs\/releasing\.md$).*\.md$/, text: "weir-datastream-{}.tgz" },
  { path: /^examples\/.*package\.json$/, text: '"@weir/datastream": "^{}"' },
  { path: /^examples\/.*deno\.json$/, text: "jsr:@weir/datastream@^{}" },
];

/** Files with versions that a release does not change, and the reason. */
const UNCHANGED: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^CHANGELOG\.md$/, "lists all versions; .ci/changelog.ts adds the new one"],
  [/^docs\/benchmarks\.md$/, "says which version was measured"],
  [/^docs\/releasing\.md$|^\.ci\/|\/(?:release|workflows)_test\.ts$/, "has examples of versions"],
];

export function withVersion(path: string, text: string, from: string, to: string): string {
  return PLACES.filter((place) => place.path.test(path)).reduce(
    (changed, place) => changed.replaceAll(placeText(place, from), placeText(place, to)),
    text,
  );
}

/**
 * Finds texts that name a version of the package but are not in the list of places.
 *
 * Other packages and the datasets of the sandbox may have the same version. A text is therefore reported only if
 * the version follows the name of the package, or is the value of `version` in a configuration file.
 *
 * @returns `path:line: text` for each text
 */
export function unlistedPlaces(path: string, text: string, version: string): string[] {
  if (UNCHANGED.some(([pattern]) => pattern.test(path))) return [];
  const escaped = `${version.replaceAll(".", "\\.")}(?!\\d|\\.\\d)`;
  const named = [
    new RegExp(`(?:weir(?:-endpoint)?|${jsr.name})[\\w./-]*["'\`:@^~/v\\s-]+${escaped}`, "i"),
  ];
  if (!/^tests\/|\.(?:ts|md)$/.test(path)) {
    named.push(new RegExp(`\\bversion"?\\s*[:=]\\s*"?${escaped}`, "i"));
  }
  return withVersion(path, text, version, "").split("\n").flatMap((line, index) =>
    named.some((pattern) => pattern.test(line)) ? `${path}:${index + 1}: ${line.trim()}` : []
  );
}

function placeText({ text }: VersionPlace, version: string): string {
  return text.replace("{}", () => version);
}
