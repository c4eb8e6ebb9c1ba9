import { assertEquals } from "@std/assert";

// Revokes every permission except reading in the test file that imports it. With `-- --update`, which
// records results, writing stays allowed.
const revoked = ["env", "ffi", "import", "net", "run", "sys"] as const;
for (const name of revoked) Deno.permissions.revokeSync({ name });
if (!Deno.args.includes("--update")) Deno.permissions.revokeSync({ name: "write" });

/** Compares a text with a file below `tests/fixtures`, or records it after `-- --update`. */
export async function assertGolden(actual: string, path: string): Promise<void> {
  const file = new URL(`../fixtures/${path}`, import.meta.url);
  if (Deno.args.includes("--update")) {
    await Deno.mkdir(new URL(".", file), { recursive: true });
    await Deno.writeTextFile(file, actual);
    return;
  }
  const message =
    `tests/fixtures/${path} differs from the actual text. If the change is intended, ` +
    "record it: deno task test <this test file> -- --update";
  assertEquals(actual, await Deno.readTextFile(file), message);
}
