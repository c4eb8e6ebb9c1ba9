/**
 * Revokes every permission except reading in the test file that imports it, which compares with
 * recorded results. With `-- --update`, which records results, writing stays allowed.
 */
const revoked = ["env", "ffi", "import", "net", "run", "sys"] as const;
for (const name of revoked) Deno.permissions.revokeSync({ name });
if (!Deno.args.includes("--update")) Deno.permissions.revokeSync({ name: "write" });
