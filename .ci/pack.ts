/**
 * Builds the npm package, `dist/weir-datastream-<version>.tgz`.
 *
 * | path in the package | content |
 * |---|---|
 * | `lib/` | bundles of the entry points, and chunks that they share |
 * | `dist/weir.js` | `mod.ts` in one minified file, for browsers |
 * | `types/` | type declarations |
 * | `mod.ts`, `src/`, `edge/` | sources, to which the maps of the bundles and declarations refer |
 *
 * Prints the path of the package, and the hash of `dist/weir.js` for the attribute `integrity`
 * (Subresource Integrity). Usage: `pack.ts`.
 */
import { createHash } from "node:crypto";
import jsr from "../jsr.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";
import {
  BROWSER_BUNDLE,
  type Bundle,
  bundleEntries,
  bundleForBrowsers,
  prepend,
} from "./npm/bundles.ts";
import { bundleName, createManifest, EXECUTABLE, TYPES } from "./npm/manifest.ts";
import { noticesComment, noticesFile, noticesReference, readNotices } from "./npm/notices.ts";
import { packageReadme } from "./npm/readme.ts";
import { run } from "./publish_config.ts";

/** Folder of the package's files. */
const PACKAGE = `${PROJECT}dist/package`;
const NOTICES = "THIRD-PARTY-LICENSES.txt";

await Deno.remove(PACKAGE, { recursive: true }).catch(() => {});
await Deno.mkdir(PACKAGE, { recursive: true });
const temporary = await Deno.makeTempDir({ dir: `${PROJECT}dist`, prefix: "bundles-" });

try {
  const entries = Object.entries(jsr.exports).map(([entry, path]) => [bundleName(entry), path]);
  const [modules, browserBundle, declarations] = await Promise.all([
    bundleEntries(
      { ...Object.fromEntries(entries), [EXECUTABLE]: "./src/cli/bin.ts" },
      temporary,
    ),
    bundleForBrowsers(jsr.exports["."], temporary),
    run(Deno.execPath(), [
      ...["run", "--no-check", "--allow-read", "--allow-write=dist", "--allow-env"],
      ...[".ci/npm/declarations.ts", `dist/package/${TYPES}`, ...Object.values(jsr.exports)],
    ]),
  ]);
  const bundles = [...modules, browserBundle];
  const license = await Deno.readTextFile(`${PROJECT}LICENSE`);
  const notices = await readNotices(
    new Map(bundles.flatMap(({ packages }) => [...packages])),
    license,
  );
  for (const bundle of modules) await write(withNotices(bundle));
  const contained = notices.filter(({ name }) => browserBundle.packages.has(name));
  const own = { name: `${jsr.name}@${jsr.version}`, text: license.trim() };
  await write(prepend(noticesComment([own, ...contained]), browserBundle));

  const sources = new Set(bundles.flatMap(({ sources }) => sources));
  for (const source of declarations.trim().split("\n")) sources.add(source);
  for (const path of [...sources, "CHANGELOG.md", "LICENSE"]) {
    await writeText(path, await Deno.readTextFile(PROJECT + path));
  }
  const repository = await readRepository();
  const readme = await Deno.readTextFile(`${PROJECT}README.md`);
  await writeText("README.md", packageReadme(readme, repository, jsr.version));
  await writeText(NOTICES, noticesFile(notices));
  await writeText("package.json", `${JSON.stringify(createManifest(repository), null, 2)}\n`);
} finally {
  await Deno.remove(temporary, { recursive: true });
}

const packed = await run("npm", ["pack", "--silent", "--pack-destination", "dist", PACKAGE]);
const code = await Deno.readFile(`${PACKAGE}/${BROWSER_BUNDLE}`);
console.log(`dist/${packed.trim()}`);
console.log(
  `${BROWSER_BUNDLE} has the hash sha384-${createHash("sha384").update(code).digest("base64")}`,
);

/** Adds the interpreter of the executable, and references to the licences of bundled packages. */
function withNotices(bundle: Bundle): Bundle {
  const isExecutable = bundle.path.endsWith(`/${EXECUTABLE}.js`);
  const interpreter = isExecutable ? "#!/usr/bin/env node\n" : "";
  const { packages } = bundle;
  return prepend(
    interpreter + (packages.size > 0 ? noticesReference(packages.keys(), NOTICES) : ""),
    bundle,
  );
}

async function write({ path, code, map }: Bundle): Promise<void> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  await writeText(path, `${code}//# sourceMappingURL=${name}.map\n`);
  await writeText(`${path}.map`, JSON.stringify({ ...map, file: name }));
}

async function writeText(path: string, text: string): Promise<void> {
  const file = `${PACKAGE}/${path}`;
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(file, text);
}

/** Reads the address of the repository. Returns an empty string if it is not settled. */
async function readRepository(): Promise<string> {
  const text = await Deno.readTextFile(`${PROJECT}.ci/project.json`).catch(() => "{}");
  return (JSON.parse(text).repository ?? "").replace(/\/$/, "");
}
