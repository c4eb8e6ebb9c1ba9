/**
 * Throws when the test file that imports it runs without the permissions of its task.
 *
 * `deno test -P` grants the same permissions to all files, and these files need more. Import it
 * first: some packages read the environment when they load. Their own error does not name the task.
 */
const { state } = Deno.permissions.querySync({ name: "env" });
if (state !== "granted") {
  const folder = Deno.mainModule.split("/").at(-2)!;
  const task = folder === "mutation" ? "test:properties" : `test:${folder}`;
  throw new Error(`This file needs more permissions than -P grants: run deno task ${task}`);
}
