import { PROJECT } from "../../helpers/project.ts";

export interface Example {
  /** Path of the file or folder in `examples/`. */
  path: string;
  commands: string[];
  /** A line of the output, or the address of the server. */
  result: string | undefined;
}

const text = await Deno.readTextFile(`${PROJECT}examples/README.md`);

export const EXAMPLES: readonly Example[] = text.split("\n")
  .filter((line) => line.startsWith("| ["))
  .map((line) => {
    const [, name, , , commands, result] = line.split("|").map((cell) => cell.trim());
    const codeOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
    return {
      path: /^\[([^\]]+)\]/.exec(name!)![1]!,
      commands: codeOf(commands!),
      result: codeOf(result!)[0],
    };
  });

/** Returns the shell commands of a requirement: those after the paragraph that starts with its name. */
export function commandsFor(requirement: "package" | "bundle" | "demo"): string[] {
  const [, code] = new RegExp(`^\\*\\*${requirement}\\*\\*:[^]*?^\`\`\`sh\n([^]*?)^\`\`\`$`, "m")
    .exec(text)!;
  return code!.trim().split("\n");
}
