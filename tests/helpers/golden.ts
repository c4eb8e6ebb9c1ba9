// Revokes every permission except reading in the test file that imports it. With `-- --update`, which
// records results, writing stays allowed.
const revoked = ["env", "ffi", "import", "net", "run", "sys"] as const;
for (const name of revoked) Deno.permissions.revokeSync({ name });
if (!Deno.args.includes("--update")) Deno.permissions.revokeSync({ name: "write" });

/** Number of equal lines to show before a difference. */
const CONTEXT = 3;

/** Compares a text with a file below `tests/fixtures`, or records it after `-- --update`. */
export async function assertGolden(actual: string, path: string): Promise<void> {
  const file = new URL(`../fixtures/${path}`, import.meta.url);
  if (Deno.args.includes("--update")) {
    await Deno.mkdir(new URL(".", file), { recursive: true });
    await Deno.writeTextFile(file, actual);
    return;
  }
  const expected = await readIfExists(file);
  if (expected === actual) return;
  const difference = expected === undefined
    ? "does not exist"
    : `differs from the actual text:\n${describeDifference(expected, actual)}`;
  throw new Error(
    `tests/fixtures/${path} ${difference}\n` +
      `If the change is intended, record it: deno task test <this test file> -- --update`,
  );
}

async function readIfExists(file: URL): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function describeDifference(expected: string, actual: string): string {
  const [expectedLines, actualLines] = [expected.split("\n"), actual.split("\n")];
  let index = 0;
  while (expectedLines[index] === actualLines[index]) index++;
  const show = (mark: string, line: string | undefined) =>
    `${mark} ${line === undefined ? "(end of text)" : escapeControls(line)}`;
  return [
    `line ${index + 1}:`,
    ...expectedLines.slice(Math.max(0, index - CONTEXT), index).map((line) => show(" ", line)),
    show("-", expectedLines[index]),
    show("+", actualLines[index]),
  ].join("\n");
}

function escapeControls(line: string): string {
  // deno-lint-ignore no-control-regex -- makes invisible characters visible
  return line.replace(/[\x00-\x1f\x7f]/g, (control) => JSON.stringify(control).slice(1, -1));
}
