/**
 * Creates `package.json` of the npm package.
 *
 * @module
 */
import jsr from "../../jsr.json" with { type: "json" };
import { NODE_ENGINES } from "../../src/node_version.ts";
import { BROWSER_BUNDLE, repositoryFields } from "../project.ts";
import { MODULES } from "./bundles.ts";

export const TYPES = "types";
/** Name of the bundle that npm installs as the command `weir`. */
export const EXECUTABLE = "bin";

/**
 * Returns the name of an entry point's bundle.
 *
 * @param entry Key of `exports`, such as `./cli`
 */
export function bundleName(entry: string): string {
  return entry === "." ? "index" : entry.slice("./".length);
}

export function createManifest(): object {
  const { name, version, license, exports } = jsr;
  const module = (entry: string) => `./${MODULES}/${bundleName(entry)}.js`;
  const types = (path: string) => path.replace(/^\.\//, `./${TYPES}/`).replace(/\.ts$/, ".d.ts");
  return {
    name,
    version,
    description:
      "Canada's open water-quality data from DataStream: client, CSV, command line, server",
    keywords: ["datastream", "water-quality", "open-data", "canada", "odata", "csv", "geojson"],
    license,
    ...repositoryFields(),
    type: "module",
    engines: { node: NODE_ENGINES },
    sideEffects: false,
    bin: { weir: `${MODULES}/${EXECUTABLE}.js` },
    main: module("."),
    types: types(exports["."]),
    // For CDNs, and for tools that do not read `exports`.
    browser: `./${BROWSER_BUNDLE}`,
    unpkg: `./${BROWSER_BUNDLE}`,
    jsdelivr: `./${BROWSER_BUNDLE}`,
    exports: {
      ...Object.fromEntries(
        Object.entries(exports).map(([entry, path]) => [entry, {
          types: types(path),
          default: module(entry),
        }]),
      ),
      "./package.json": "./package.json",
    },
    // For TypeScript with `moduleResolution: node10`, which does not read `exports`.
    typesVersions: {
      "*": Object.fromEntries(
        Object.entries(exports).filter(([entry]) => entry !== ".")
          .map(([entry, path]) => [entry.slice("./".length), [types(path)]]),
      ),
    },
    // npm publishes scoped packages as private by default.
    publishConfig: { access: "public" },
  };
}
