// Reads the documents for users and contributors, and the code blocks in them.
import { filesIn, PROJECT } from "./project.ts";

export interface CodeBlock {
  file: string;
  /** Line number of the opening fence, starting at 1. */
  line: number;
  /** `file:line`, for messages. */
  place: string;
  /** First word after the opening fence, or an empty string. */
  language: string;
  /** Text after the language. */
  note: string;
  code: string;
  /** Text since the previous code block, or since the start. */
  before: string;
}

/** Folders with documents, and documents in other folders. A document that does not exist is left out. */
const FOLDERS = ["docs/", "examples/"];
const FILES = ["README.md", "SKILL.md", "CONTRIBUTING.md", ".github/SECURITY.md"];

export const DOCUMENTS: ReadonlyMap<string, string> = await readDocuments();

async function readDocuments(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const paths = [...FILES];
  for (const folder of FOLDERS) {
    const names = await Array.fromAsync(filesIn(PROJECT + folder));
    const own = names.filter((name) => /\.md$/.test(name) && !name.includes("node_modules/"));
    paths.push(...own.map((name) => folder + name).sort());
  }
  for (const path of paths) {
    try {
      texts.set(path, await Deno.readTextFile(PROJECT + path));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return texts;
}

export function documentBlocks(documents: ReadonlyMap<string, string> = DOCUMENTS): CodeBlock[] {
  return [...documents].flatMap(([file, text]) => blocksOf(file, text));
}

export function blocksOf(file: string, text: string): CodeBlock[] {
  let end = 0;
  return [...text.matchAll(/^```([^\s`]*) ?([^\n]*)\n([^]*?)^```$/gm)].map((match) => {
    const [all, language, note, code] = match;
    const before = text.slice(end, match.index);
    end = match.index + all.length;
    const line = text.slice(0, match.index).split("\n").length;
    const place = `${file}:${line}`;
    return { file, line, place, language: language!, note: note!, code: code!, before };
  });
}

/** Returns the code block of docs/deploying.md that contains a text. */
export function deploymentBlock(text: string): string {
  const blocks = documentBlocks(new Map([["", DOCUMENTS.get("docs/deploying.md")!]]));
  const [block, ...others] = blocks.filter(({ code }) => code.includes(text));
  if (block === undefined || others.length > 0) {
    throw new Error(`docs/deploying.md needs one code block with "${text}"`);
  }
  return block.code;
}

/**
 * Returns the program of a block, on the lines that it has in its file, so that messages of compilers name
 * the right line. A block without imports continues the last block before it that has imports.
 */
export function programOf(block: CodeBlock, blocks: readonly CodeBlock[]): string {
  const place = (code: string, line: number) => "\n".repeat(line) + code;
  if (hasImports(block)) return place(block.code, block.line);
  const earlier = blocks.filter(({ file, line, language }) =>
    file === block.file && line < block.line && language === block.language
  );
  const first = earlier.findLast(hasImports);
  if (first === undefined) return place(block.code, block.line);
  const start = place(first.code, first.line);
  const gap = block.line - start.split("\n").length;
  // The braces allow it to declare the same names.
  return `${start}${"\n".repeat(gap)}{\n${block.code}}\n`;
}

function hasImports({ code }: CodeBlock): boolean {
  return /^import\b|\brequire\(/m.test(code);
}

/** Returns the name under which the text before a block says to save it. */
export function fileNameOf({ before }: CodeBlock): string | undefined {
  return /\b[Ss]ave (?:this|it|the script|the program)\b[^`]*`([^`]+)`/.exec(lastParagraph(before))
    ?.[1];
}

export function lastParagraph(text: string): string {
  return text.trim().split(/\n\s*\n/).at(-1)!;
}
