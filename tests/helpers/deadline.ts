/**
 * Options of a test that waits for the code under test: without a result it fails after 10 s, under
 * its name, instead of hanging. Deno ends loops that never yield, too.
 */
export const DEADLINE: Pick<Deno.TestDefinition, "timeout"> = { timeout: 10_000 };
