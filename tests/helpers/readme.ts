/** A piece of code of the README. */
export interface Fence {
  /** The word after the opening fence; "" where there is none. */
  language: string;
  /** What more stands there. */
  note: string;
  code: string;
  /** The text from the fence before it, or the beginning, to this one. */
  before: string;
  /** The line of its opening fence, from 1. */
  line: number;
}

/** The code of the README, piece by piece. */
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

/** The README. */
export function readReadme(): Promise<string> {
  return Deno.readTextFile(new URL("../../README.md", import.meta.url));
}

/** The commands of a piece of shell: without comments, each on one line. */
export function commandsOf({ code }: Fence): string[] {
  return code.replaceAll("\\\n", " ").split("\n")
    .map((line) => line.replace(/(^|\s+)#.*$/, "").replace(/\s+/g, " ").trim())
    .filter((line) => line !== "");
}
