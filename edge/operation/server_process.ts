import type { Environment } from "../config.ts";
import { isWorkers } from "../options.ts";

/** Windows has SIGBREAK (Ctrl-Break) and no SIGTERM. */
const STOP_SIGNALS = ["SIGTERM", "SIGINT", "SIGBREAK"];
/** 128 plus 2, the number of SIGINT. */
const INTERRUPTED_EXIT_CODE = 130;
const ABORT_WARNING = "request.signal aborts on successful responses";

interface Globals {
  process?: {
    env: Environment;
    on(signal: string, listener: () => void): void;
    exit(code: number): never;
  };
  Deno?: {
    permissions: { querySync(of: { name: "env"; variable?: string }): { state: string } };
  };
  Bun?: unknown;
}
const { process, Deno: deno, Bun } = globalThis as Globals;

/** On Cloudflare Workers, `process` is not a real one. */
export const hasProcess: boolean = process !== undefined && !isWorkers();
/** Exits on a signal without waiting for open responses. */
export const isBun: boolean = Bun !== undefined;

/** Reading a variable without permission would prompt the user or throw. */
function isPermitted(variable?: string): boolean {
  const { state = "granted" } = deno?.permissions.querySync({ name: "env", variable }) ?? {};
  return state === "granted";
}

export function permittedVariables(names: readonly string[]): Environment {
  return Object.fromEntries(names.filter(isPermitted).map((name) => [name, process?.env[name]]));
}

/** None if Deno may not list them. */
export function variableNames(): string[] {
  return isPermitted() ? Object.keys(process?.env ?? {}) : [];
}

/** For a variable that Deno may not read; else empty. */
export function permissionHint(name: string): string {
  return isPermitted(name) ? "" : ` (Deno may not read ${name}: pass --allow-env)`;
}

export function exit(code: number): void {
  process?.exit(code);
}

/** The first signal calls a function and exits with its result; the second exits immediately. */
export function onStopSignal(stop: () => Promise<number>): void {
  let signals = 0;
  const onSignal = async () => exit(++signals > 1 ? INTERRUPTED_EXIT_CODE : await stop());
  for (const signal of STOP_SIGNALS) {
    try {
      process?.on(signal, onSignal);
    } catch {
      // The system does not have this signal.
    }
  }
}

/** Deno warns, but the app uses `request.signal` only until it returns the response. */
export function hideAbortWarning(): void {
  const { warn } = console;
  const filter = (...data: unknown[]) => {
    if (!String(data[0]).includes(ABORT_WARNING)) return warn.apply(console, data);
    if (console.warn === filter) console.warn = warn;
  };
  console.warn = filter;
}
