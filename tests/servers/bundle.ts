import deno from "../../deno.json" with { type: "json" };

/** The project's folder. */
export const ROOT: string = new URL("../..", import.meta.url).pathname;

const bundled = new Map<string, Promise<string>>();

/**
 * A module as one file, and all that it imports.
 *
 * @param module The module's path in the project
 * @param published The published entry that the task `bundle` makes in the same way
 */
export function bundle(module: string, published: string): Promise<string> {
  const made = bundled.get(module) ?? make(module, published);
  bundled.set(module, made);
  return made;
}

async function make(module: string, published: string): Promise<string> {
  const commands = deno.tasks.bundle.command.split(" && ");
  const [, ...flags] = commands.find((command) => command.endsWith(published))!.split(" ");
  const folder = await Deno.makeTempDir({ prefix: "weir-servers-" });
  try {
    const output = `${folder}/bundle.js`;
    const args = flags.slice(0, -1);
    args[args.indexOf("--output") + 1] = output;
    args.push(module);
    const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT })
      .output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return await Deno.readTextFile(output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
