import type { ProgramResult } from "../../helpers/programs.ts";
import { killIfRunning, runToEnd, serving, start } from "../command_line.ts";

export interface KillableCommandLine {
  /** Runs a command line to its end. */
  run: (...args: string[]) => Promise<ProgramResult>;
  /** Kills a command line some milliseconds after its request number `at`; resolves to false if it ended before. */
  runUntilKilled: (at: number, delay: number, ...args: string[]) => Promise<boolean>;
}

/** Runs a test with a service that can kill its client. */
export function withKillingService(
  handler: (request: Request) => Response | Promise<Response>,
  test: (weir: KillableCommandLine) => Promise<void>,
): Promise<void> {
  let requests = 0;
  let killAt: { request: number; delay: number; child: Deno.ChildProcess } | undefined;
  return serving((request) => {
    if (++requests === killAt?.request) {
      const { child, delay } = killAt;
      if (delay === 0) {
        killIfRunning(child);
        return new Response(null, { status: 503 });
      }
      const timer = setTimeout(() => killIfRunning(child), delay);
      child.status.finally(() => clearTimeout(timer));
    }
    return handler(request);
  }, (line, baseUrl) =>
    test({
      run(...args) {
        killAt = undefined;
        return runToEnd(line, ...args, baseUrl, "--quiet");
      },
      async runUntilKilled(at, delay, ...args) {
        requests = 0;
        const child = start(line, ...args, baseUrl, "--quiet");
        killAt = { request: at, delay, child };
        return (await child.output()).signal === "SIGKILL";
      },
    }));
}
