/**
 * Gives the package another name in all files. Usage: `rename.ts @scope/name`.
 *
 * Replaces the name, also in regular expressions, and the name of the npm tarball. The command `weir` and the
 * variables `WEIR_*` keep their names.
 *
 * @module
 */
import jsr from "../jsr.json" with { type: "json" };
import { PROJECT } from "../tests/helpers/project.ts";
import { git } from "./git.ts";
import { run } from "./publish_config.ts";

const [name = ""] = Deno.args;
if (!/^@[a-z\d-]+\/[a-z\d-]+$/.test(name)) {
  console.error(`The name must have the form @scope/name, got "${name}"`);
  Deno.exit(2);
}
/** Returns the forms in which files contain the name of the package. */
const formsOf = (name: string) => [
  name,
  name.replace("/", "\\/"),
  `${name.slice(1).replace("/", "-")}-`, // the tarball of npm
];
const forms = formsOf(jsr.name).map((form, index) => [form, formsOf(name)[index]!] as const);
let changed = 0;
for (const path of (await git("ls-files", "-z")).split("\0").filter(Boolean)) {
  const bytes = await Deno.readFile(PROJECT + path);
  if (bytes.includes(0)) continue; // a picture
  const before = new TextDecoder().decode(bytes);
  const after = forms.reduce((text, [from, to]) => text.replaceAll(from, to), before);
  if (after === before) continue;
  await Deno.writeTextFile(PROJECT + path, after);
  changed++;
}
await run(Deno.execPath(), ["fmt", "--quiet"]);
console.log(
  `${jsr.name} is now ${name} in ${changed} files. Read docs/releasing.md for the scope.`,
);
