/** Default time limit (ms) of a step. */
const LIMIT = 120_000;

/** Fails with a message that names the step if it takes longer than a time limit (ms). */
export async function withDeadline<T>(
  work: Promise<T>,
  name: string | (() => string),
  milliseconds = LIMIT,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => {
      const step = typeof name === "string" ? name : name();
      reject(new Error(`${step} did not end within ${milliseconds / 1000} s`));
    },
    milliseconds,
  );
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Options of a test that waits for the code under test. It fails after a minute instead of hanging; this
 * also ends loops that never yield.
 */
export const DEADLINE: Pick<Deno.TestDefinition, "timeout"> = { timeout: 60_000 };

/** Registers a test with this time limit. */
export function test(name: string, run: () => Promise<void>): void {
  Deno.test(name, DEADLINE, run);
}

/** The same for a test with many large downloads, which takes several seconds on a busy machine. */
export const LONG_DEADLINE: Pick<Deno.TestDefinition, "timeout"> = { timeout: 300_000 };
