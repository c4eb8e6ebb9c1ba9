import deno from "../../../deno.json" with { type: "json" };
import { bundle } from "../../helpers/bundle.ts";

/**
 * Bundles a module with the flags of the task `bundle`.
 *
 * @param module Path of the module in the project
 * @param published Path of the published entry point whose flags to use
 */
export function bundleAsPublished(module: string, published: string): Promise<string> {
  const command = deno.tasks.bundle.command.split(" && ").find((part) => part.endsWith(published))!;
  const flags = /^deno bundle --quiet (.*) --output \S+ (.*)/.exec(
    command.slice(0, -published.length),
  )!
    .slice(1).flatMap((words) => words.split(" ")).filter((flag) => flag !== "");
  return bundle(module, ...flags);
}
