// Environment and signals of the server's process, with one interface for Deno, Node and Bun.
import { isWorkers, type NavigatorGlobals } from "../runtime.ts";

/** Signals that stop a server. Windows has SIGBREAK (Ctrl-Break) and no SIGTERM. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK"];
/** Exit code after a second signal: 128 plus 2, the number of SIGINT. */
const INTERRUPTED_EXIT_CODE = 130;

/** The process of a server. */
export interface ServerProcess {
  /** Whether the runtime is Bun, which exits on a signal without waiting for open responses. */
  isBun: boolean;
  /** Returns an environment variable; `undefined` if it is not set, or Deno may not read it. */
  variable(name: string): string | undefined;
  /** Returns the names of all variables; none if Deno may not list them. */
  variableNames(): string[];
  /** Returns a hint to append to an error about a variable that Deno may not read; else an empty text. */
  permissionHint(name: string): string;
  /**
   * Handles signals. At the first one, calls a function and exits with its result. At the second one, exits
   * immediately.
   *
   * @param stop Stops the server and returns the exit code
   */
  onStopSignal(stop: () => Promise<number>): void;
  /** Ends the process. */
  exit(code: number): void;
}

/** Globals of Deno, Node and Bun that are used here. */
export interface ProcessGlobals extends NavigatorGlobals {
  process?: {
    env: Record<string, string | undefined>;
    on(signal: string, listener: () => void): void;
    exit(code: number): void;
  };
  Deno?: {
    permissions: { querySync(of: { name: "env"; variable?: string }): { state: string } };
  };
  Bun?: unknown;
}

/** Returns the process; `undefined` on Cloudflare Workers, whose `process` is not a real one. */
export function currentProcess(
  { process, Deno, Bun, navigator }: ProcessGlobals = globalThis as ProcessGlobals,
): ServerProcess | undefined {
  if (process === undefined || isWorkers({ navigator })) return undefined;
  // Reading a variable without the permission would prompt the user or throw.
  const isPermitted = (variable?: string) => {
    const { state } = Deno?.permissions.querySync({ name: "env", variable }) ??
      { state: "granted" };
    return state === "granted";
  };
  return {
    isBun: Bun !== undefined,
    variable: (name) => isPermitted(name) ? process.env[name] : undefined,
    variableNames: () => isPermitted() ? Object.keys(process.env) : [],
    permissionHint: (name) =>
      isPermitted(name) ? "" : ` (Deno may not read ${name}: pass --allow-env)`,
    exit: (code) => process.exit(code),
    onStopSignal(stop) {
      let signals = 0;
      const onSignal = async () => {
        if (++signals > 1) process.exit(INTERRUPTED_EXIT_CODE);
        else process.exit(await stop());
      };
      for (const signal of STOP_SIGNALS) {
        try {
          process.on(signal, onSignal);
        } catch {
          // The system does not have this signal.
        }
      }
    },
  };
}
