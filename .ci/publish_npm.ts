/**
 * Publishes the package that `deno task pack` has built to npm, unless npm has this version.
 *
 * A pre-release gets the dist-tag `next`, so that `npm install` without a version does not choose it.
 * Usage: `publish_npm.ts`.
 */
import jsr from "../jsr.json" with { type: "json" };
import { isPreRelease } from "./semver.ts";

const { name, version } = jsr;
const tarball = `dist/${name.slice(1).replace("/", "-")}-${version}.tgz`;

const { stdout } = await new Deno.Command("npm", {
  args: ["view", `${name}@${version}`, "version"],
  stderr: "null",
}).output();
if (new TextDecoder().decode(stdout).trim() === version) {
  console.log(`npm has ${name}@${version}; it is not published again`);
} else {
  const args = ["publish", `./${tarball}`, "--tag", isPreRelease(version) ? "next" : "latest"];
  const { code } = await new Deno.Command("npm", { args }).spawn().status;
  Deno.exitCode = code;
}
