/**
 * Revokes every permission of the test file that imports it.
 *
 * `deno test -P` gives one set of permissions to all files. Deno runs each test file with
 * permissions of its own, so this import narrows that file alone. An import runs before the code of
 * the file, so it also covers code outside `Deno.test()`, which the `permissions` of a test do not.
 */
for (const name of ["env", "ffi", "import", "net", "read", "run", "sys", "write"] as const) {
  Deno.permissions.revokeSync({ name });
}
