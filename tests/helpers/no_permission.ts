/**
 * Makes the test file that imports it depend on nothing but its code: revokes every permission, and replaces
 * `Math.random()`, of which delays are drawn, by a generator that gives the same numbers in each run.
 *
 * `deno test -P` grants the same permissions to all files, but each test file holds them separately,
 * so this import affects only that file. It also covers code outside `Deno.test()`, which the
 * `permissions` option of a test does not.
 */
import { Random } from "../properties/random.ts";

for (const name of ["env", "ffi", "import", "net", "read", "run", "sys", "write"] as const) {
  Deno.permissions.revokeSync({ name });
}

const random = new Random(1);
Math.random = () => random.next();
