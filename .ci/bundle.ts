/**
 * Bundles the server into single files without dependencies: `dist/server.mjs`, which runs `weir serve` in
 * Node, Bun and Deno, and `dist/worker.js` for Cloudflare Workers. Usage: `bundle.ts`.
 *
 * @module
 */
import { resolve } from "node:path";
import { PROJECT } from "../tests/helpers/project.ts";
import { formatNoticesComment, type NpmPackage, readNotices } from "./npm/notices.ts";
import { run } from "./publish_config.ts";
import { SERVER_BUNDLES } from "./server_bundles.ts";

/** Path of a module in the cache of npm packages: folder, name and version of its package, and the rest. */
const CACHED_MODULE =
  /([^\s"]*\/npm\/[^/\n]+\/((?:@[^/\n]+\/)?[^/\n]+)\/(\d[^/\n]*))\/(\S+?)(?="|$)/gm;

/** The library of `weir mcp`, which the command of these bundles never loads. */
const OTHERS = ["--external", "./mcp_library.ts"];

for (const [name, { module, platform }] of Object.entries(SERVER_BUNDLES)) {
  const path = `dist/${name}`;
  await run(Deno.execPath(), [
    ...["bundle", "--quiet", "--platform", platform, "--output", path, module, ...OTHERS],
  ]);
  await Deno.writeTextFile(PROJECT + path, await complete(await Deno.readTextFile(PROJECT + path)));
  console.log(path);
}

/** Adds the licences of the bundled packages, and removes paths of this computer from comments. */
async function complete(code: string): Promise<string> {
  const packages: NpmPackage[] = [];
  const withoutPaths = code.replace(CACHED_MODULE, (_, folder, name, version, rest) => {
    packages.push({ name, version, localPath: resolve(PROJECT, folder) });
    return `npm:${name}@${version}/${rest}`;
  });
  const own = await Deno.readTextFile(`${PROJECT}LICENSE`);
  const notices = await readNotices(packages, own);
  return formatNoticesComment([{ name: "@weir/datastream", text: own.trim() }, ...notices]) +
    withoutPaths;
}
