import deno from "../../../deno.json" with { type: "json" };
import { bundle } from "../../helpers/bundle.ts";

const bundled = new Map<string, Promise<string>>();

/**
 * A module as one file, and all that it imports.
 *
 * @param module The module's path in the project
 * @param published The published entry that the task `bundle` makes in the same way
 */
export function bundleAsPublished(module: string, published: string): Promise<string> {
  const made = bundled.get(module) ?? bundle(module, ...flagsFor(published));
  bundled.set(module, made);
  return made;
}

function flagsFor(published: string): string[] {
  const command = deno.tasks.bundle.command.split(" && ").find((one) => one.endsWith(published))!;
  return /^deno bundle --quiet (.*) --output \S+ (.*)/.exec(command.slice(0, -published.length))!
    .slice(1).flatMap((flags) => flags.split(" ")).filter((flag) => flag !== "");
}
