import { oldNodeMessage } from "../node_version.ts";

/**
 * Runs the command line as the program of this process. What an old Node lacks is loaded after its version is checked,
 * because Node loads all static imports before it runs anything.
 *
 * @param first Arguments before those of the process
 */
export async function start(...first: string[]): Promise<void> {
  const message = oldNodeMessage();
  if (message === undefined) return (await import("./process.ts")).runProcess(first);
  console.error(message);
  (globalThis as unknown as { process: { exitCode: number } }).process.exitCode = 1;
}
