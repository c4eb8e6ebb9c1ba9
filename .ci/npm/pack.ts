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
import jsr from "../../jsr.json" with { type: "json" };
import { PROJECT } from "../../tests/helpers/project.ts";
import { BROWSER_BUNDLE, PACKAGE_FOLDER, REPOSITORY } from "../project.ts";
import { run } from "../publish_config.ts";
import { bundle } from "./bundles.ts";
import { emitDeclarations } from "./declarations.ts";
import { bundleName, createManifest, EXECUTABLE, TYPES } from "./manifest.ts";
import { formatNoticesComment, formatNoticesFile, readNotices } from "./notices.ts";
import { packageReadme } from "./readme.ts";

const PACKAGE = PROJECT + PACKAGE_FOLDER;

await Deno.remove(PACKAGE, { recursive: true }).catch(() => {});
const license = await Deno.readTextFile(`${PROJECT}LICENSE`);
const sources = new Set<string>();

const entries = Object.entries(jsr.exports).map(([entry, path]) => [bundleName(entry), path]);
const bundles = await bundle(
  { ...Object.fromEntries(entries), [EXECUTABLE]: "./src/cli/bin.ts" },
  jsr.exports["."],
);
for (const { path, code, map, sources: modules, packages } of bundles) {
  // Sites copy the file for browsers without THIRD-PARTY-LICENSES.txt.
  const notices = path === BROWSER_BUNDLE
    ? formatNoticesComment([
      { name: `${jsr.name}@${jsr.version}`, text: license.trim() },
      ...await readNotices(packages, license),
    ])
    : "";
  await write(path, code + notices, map);
  for (const module of modules) sources.add(module);
}
for (const { source, path, text, map } of emitDeclarations(Object.values(jsr.exports), TYPES)) {
  await write(path, text, map);
  sources.add(source);
}
for (const path of [...sources, "CHANGELOG.md", "LICENSE", "SKILL.md"]) {
  await write(path, await Deno.readTextFile(PROJECT + path));
}
const notices = await readNotices(bundles.flatMap(({ packages }) => packages), license);
await write("THIRD-PARTY-LICENSES.txt", formatNoticesFile(notices));
const readme = await Deno.readTextFile(`${PROJECT}README.md`);
await write("README.md", packageReadme(readme, REPOSITORY, jsr.version));
await write("package.json", `${JSON.stringify(createManifest(), null, 2)}\n`);

const packed = await run("npm", ["pack", "--silent", "--pack-destination", "dist", PACKAGE]);
console.log(`dist/${packed.trim()}`);
const hash = createHash("sha384").update(await Deno.readFile(`${PACKAGE}${BROWSER_BUNDLE}`));
console.log(`integrity of ${BROWSER_BUNDLE}: sha384-${hash.digest("base64")}`);

async function write(path: string, text: string, map?: string): Promise<void> {
  const file = PACKAGE + path;
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  if (map !== undefined && !text.includes("\n//# sourceMappingURL=")) {
    text += `//# sourceMappingURL=${path.slice(path.lastIndexOf("/") + 1)}.map\n`;
  }
  await Deno.writeTextFile(file, text);
  if (map !== undefined) await Deno.writeTextFile(`${file}.map`, map);
}
