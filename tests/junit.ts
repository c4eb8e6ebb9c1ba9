import { PROJECT } from "./helpers/project.ts";

/** A test in a JUnit report of Deno. */
export interface TestCase {
  /** If it failed, the test file, also if a helper registered the test. */
  file: string;
  /** Line of the file. Default: 0, if the report has none. */
  line: number;
  name: string;
  /** First line of the error. Default: the test did not fail. */
  failure?: string;
  isSkipped: boolean;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

/**
 * Returns the tests in a JUnit report of Deno; none if the report is empty.
 *
 * @param files The test files of the report. Deno names the place of `Deno.test()`, which may be in a helper
 */
export function testsIn(junit: string, files: readonly string[] = []): TestCase[] {
  const cases = junit.matchAll(
    /<testcase name="([^"]*)" classname="([^"]*)"([^>]*)>([^]*?)<\/testcase>/g,
  );
  return [...cases].map(([, encodedName, path, attributes, content]) => {
    const [, failure] = /<(?:failure|error)\b[^>]*?message="([^"]*)"/.exec(content!) ?? [];
    const name = decode(encodedName!);
    const file = decode(path!).replace(/^\.\//, "");
    const line = Number(/ line="(\d+)"/.exec(attributes!)?.[1] ?? 0);
    if (failure === undefined) {
      return { file, line, name, isSkipped: content!.includes("<skipped") };
    }
    const place = outermostFrame(decode(content!)) ?? findName(name, [file, ...files]);
    return { file, line, ...place, name, failure: firstLine(decode(failure)), isSkipped: false };
  });
}

type Place = Pick<TestCase, "file" | "line">;

/** Returns the last line of a test file in the stack of an error. */
function outermostFrame(failure: string): Place | undefined {
  const frames = failure.matchAll(/^ +at .*?file:\/\/(.*_test\.ts):(\d+):\d+\)?(?:$|<)/gm);
  const [, path, line] = [...frames].filter(([, path]) => path!.startsWith(PROJECT)).at(-1) ?? [];
  return path && { file: path.slice(PROJECT.length), line: Number(line) } || undefined;
}

/** Returns the line with the name of a test, whose error has no stack if it took too long. */
function findName(name: string, files: readonly string[]): Place | undefined {
  for (const file of files.filter((file) => file.endsWith("_test.ts"))) {
    const text = Deno.readTextFileSync(PROJECT + file);
    const index = text.indexOf(name);
    if (index >= 0) return { file, line: text.slice(0, index).split("\n").length };
  }
}

function decode(text: string): string {
  return text.replace(
    /&(?:lt|gt|quot|apos|amp|#(\d+)|#x([\da-f]+));/gi,
    (entity, decimal, hex) =>
      ENTITIES[entity] ?? String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16)),
  );
}

function firstLine(text: string): string {
  return /^(?:Uncaught )?(.*?\S.*)$/m.exec(text)?.[1] ?? text;
}
