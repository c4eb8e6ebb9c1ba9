/**
 * Revokes every permission of the test file that imports it, but for reading: for tests that compare
 * with recorded results. With `-- --update`, which records them again, writing is allowed, too.
 */
const revoked = ["env", "ffi", "import", "net", "run", "sys"] as const;
for (const name of revoked) Deno.permissions.revokeSync({ name });
if (!Deno.args.includes("--update")) Deno.permissions.revokeSync({ name: "write" });
