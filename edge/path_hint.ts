import { didYouMean } from "../src/validation.ts";
import { RESOURCES } from "../src/odata/resources.ts";

/**
 * Returns what to do about a path that the app does not have.
 *
 * @param known The paths that it has
 */
export function pathHint(path: string, known: readonly string[]): string {
  // A path of the service's own, with its root before it.
  const end = known.find((other) => other !== "/" && path.endsWith(other));
  if (end !== undefined) return `did you mean "${end}"?`;
  const dot = path.lastIndexOf(".");
  const siblings = dot < 0 ? [] : known.filter((other) => other.startsWith(path.slice(0, dot + 1)));
  if (siblings.length === 0) return didYouMean(path, known, `use one of ${DOWNLOADS}`);
  // Only the extension is wrong: the rest of the path must not make each of them near.
  const extensions = siblings.map((other) => other.slice(dot + 1));
  return didYouMean(path.slice(dot + 1), extensions, `use one of ${siblings.join(", ")}`)
    .replace(/"(?=\w)/, `"${path.slice(0, dot + 1)}`);
}

const PATHS = Object.values(RESOURCES).map(({ path }) => path);
const DOWNLOADS = `${PATHS.join(", ")}, each with .csv, .ndjson or .json after it`;
