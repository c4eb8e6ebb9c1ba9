const FIXTURES = new URL("../fixtures/", import.meta.url);

/**
 * Asserts that text equals a golden file. Run the test with `-- --update` to rewrite the file.
 *
 * @param actual The text
 * @param path The file, relative to tests/fixtures
 * @throws {Error} If they differ; the message shows the first line that does
 */
export async function assertGolden(actual: string, path: string): Promise<void> {
  const file = new URL(path, FIXTURES);
  if (Deno.args.includes("--update")) {
    await Deno.mkdir(new URL(".", file), { recursive: true });
    await Deno.writeTextFile(file, actual);
    return;
  }
  const expected = await Deno.readTextFile(file).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  if (actual === expected) return;
  const [actualLines, expectedLines] = [actual.split("\n"), expected.split("\n")];
  const index = actualLines.findIndex((line, index) => line !== expectedLines[index]);
  const line = index < 0 ? actualLines.length : index;
  const show = (text: string | undefined) => text === undefined ? "(end of file)" : text;
  throw new Error(
    `tests/fixtures/${path} differs at line ${line + 1}\n` +
      `  expected: ${show(expectedLines[line])}\n` +
      `  actual:   ${show(actualLines[line])}\n` +
      "If the change is intended, update the file and review its diff: " +
      "deno test --allow-read=tests/fixtures --allow-write=tests/fixtures <test file> -- --update",
  );
}
