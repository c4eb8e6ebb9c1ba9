/** A test in a JUnit report of Deno. */
export interface TestCase {
  file: string;
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

/** Returns the tests in a JUnit report of Deno; none if the report is empty. */
export function testsIn(junit: string): TestCase[] {
  const cases = junit.matchAll(
    /<testcase name="([^"]*)" classname="([^"]*)"[^>]*>([^]*?)<\/testcase>/g,
  );
  return [...cases].map(([, name, file, content]) => {
    const [, failure] = /<(?:failure|error)\b[^>]*?message="([^"]*)"/.exec(content!) ?? [];
    return {
      file: decode(file!).replace(/^\.\//, ""),
      name: decode(name!),
      ...(failure !== undefined && { failure: firstLine(decode(failure)) }),
      isSkipped: content!.includes("<skipped"),
    };
  });
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
