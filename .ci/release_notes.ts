/**
 * Prints the notes of a release in Markdown: the changes, the hash of the file for browsers, and the digests
 * of the container image and of its base images.
 *
 * `deno task pack` must have built the package. Usage: `release_notes.ts IMAGE@DIGEST BASE@DIGEST…`.
 */
import { createHash } from "node:crypto";
import jsr from "../jsr.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";
import { findSection } from "./changelog.ts";
import { BROWSER_BUNDLE, PACKAGE_FOLDER } from "./project.ts";
import { isPreRelease } from "./semver.ts";

const { name, version } = jsr;
const [image, ...bases] = Deno.args;
const imageLines = image === undefined ? "" : `\n- Container image: \`${image}\`` +
  (bases.length > 0 ? `, built from ${bases.map((base) => `\`${base}\``).join(" and ")}` : "");
const changelog = await Deno.readTextFile(`${PROJECT}CHANGELOG.md`);
const section = findSection(changelog, isPreRelease(version) ? undefined : version);
const hash = createHash("sha384").update(
  await Deno.readFile(PROJECT + PACKAGE_FOLDER + BROWSER_BUNDLE),
);

console.log(`${section?.text ?? ""}

### Packages

- JSR: https://jsr.io/${name}@${version}
- npm: https://www.npmjs.com/package/${name}/v/${version}
- Browsers: https://unpkg.com/${name}@${version}/${BROWSER_BUNDLE}, with
  \`integrity="sha384-${hash.digest("base64")}"\`${imageLines}`);
