// Revokes every permission of the test file that imports it, also outside `Deno.test()`, and
// replaces `Math.random()` by a generator with the same numbers in each run. Each file has its own
// permissions.
import { Random } from "../properties/random.ts";

for (const name of ["env", "ffi", "import", "net", "read", "run", "sys", "write"] as const) {
  Deno.permissions.revokeSync({ name });
}

const random = new Random(1);
Math.random = () => random.next();
