/**
 * Returns the definition of a test that is skipped where something is missing. Its name then says so, which
 * is how `tests/run.ts` and `.ci/run` learn it.
 *
 * @param needs Whether each program, package or right that the test needs is there
 */
export function needing(
  needs: Readonly<Record<string, unknown>>,
  name: string,
  fn: (test: Deno.TestContext) => void | Promise<void>,
): Deno.TestDefinition {
  const missing = Object.keys(needs).filter((need) => !needs[need]);
  const suffix = missing.length === 0 ? "" : ` (needs ${missing.join(" and ")})`;
  return { name: name + suffix, ignore: missing.length > 0, fn };
}

/** Registers a test that is skipped where something is missing. */
export function testNeeding(...definition: Parameters<typeof needing>): void {
  Deno.test(needing(...definition));
}
