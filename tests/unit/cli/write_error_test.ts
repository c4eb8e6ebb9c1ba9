// Tests explanations directly: a test cannot cause most of these errors of the operating system.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { explainWriteError, FileError } from "../../../src/cli/output.ts";

const fault = (code: string, more = {}) => Object.assign(new Error(code), { code, ...more });

const cases: [code: string, explanation: string][] = [
  ["ENOSPC", "no space left on the disk: free some space, or choose a file on another disk"],
  ["EDQUOT", "the disk quota is used up: free some space, or choose a file on another disk"],
  ["EFBIG", "the file is too large for its disk or a limit: choose a file on another disk"],
  ["EACCES", "permission denied: change the permissions, or choose another directory"],
  ["EPERM", "permission denied: change the permissions, or choose another directory"],
  ["EROFS", "the file system is read-only: choose another directory"],
  ["EISDIR", "it is a directory: name a file in it"],
];
for (const [code, explanation] of cases) {
  Deno.test(`explainWriteError() names the file and what to do when the code is ${code}`, () => {
    const cause = fault(code);
    const error = explainWriteError(cause, "a.csv");
    assert(error instanceof FileError);
    assertEquals(error.message, `Cannot write a.csv (${code}): ${explanation}`);
    assertStrictEquals(error.cause, cause);
  });
}
