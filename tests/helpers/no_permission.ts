/**
 * Revokes every permission of the test file that imports it.
 *
 * `deno test -P` grants the same permissions to all files, but each test file holds them separately,
 * so this import affects only that file. It also covers code outside `Deno.test()`, which the
 * `permissions` option of a test does not.
 */
for (const name of ["env", "ffi", "import", "net", "read", "run", "sys", "write"] as const) {
  Deno.permissions.revokeSync({ name });
}
