/** A fenced code block of the README. */
export interface Fence {
  /** First word after the opening fence, or an empty string. */
  language: string;
  /** Text after the language. */
  note: string;
  code: string;
  /** Text since the previous code block, or since the start. */
  before: string;
  /** Line number of the opening fence, starting at 1. */
  line: number;
}

/** Returns the code blocks of the README. */
export async function readFences(): Promise<Fence[]> {
  const text = await readReadme();
  let end = 0;
  return [...text.matchAll(/^```(\w*) ?([^\n]*)\n([^]*?)^```$/gm)].map((match) => {
    const [all, language, note, code] = match;
    const before = text.slice(end, match.index);
    end = match.index + all.length;
    return {
      language: language!,
      note: note!,
      code: code!,
      before,
      line: text.slice(0, match.index).split("\n").length,
    };
  });
}

/** Reads the README. */
export function readReadme(): Promise<string> {
  return Deno.readTextFile(new URL("../../README.md", import.meta.url));
}

/** Returns the commands of a shell block, each on one line and without comments. */
export function commandsOf({ code }: Fence): string[] {
  return code.replaceAll("\\\n", " ").split("\n")
    .map((line) => line.replace(/(^|\s+)#.*$/, "").replace(/\s+/g, " ").trim())
    .filter((line) => line !== "");
}
