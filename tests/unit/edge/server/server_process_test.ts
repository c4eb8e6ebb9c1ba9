import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { hideAbortWarning } from "../../../../edge/server/abort_warning.ts";
import { currentProcess, type ProcessGlobals } from "../../../../edge/server/server_process.ts";

/** Globals of a runtime with a process that records exit codes and signal listeners. */
function fakeGlobals(env: Record<string, string>, missingSignals: string[] = []) {
  const listeners = new Map<string, () => void>();
  const exitCodes: number[] = [];
  const process: ProcessGlobals["process"] = {
    env,
    on(signal, listener) {
      if (missingSignals.includes(signal)) throw new Error(`no signal ${signal}`);
      listeners.set(signal, listener);
    },
    exit: (code) => void exitCodes.push(code),
  };
  return { process, listeners, exitCodes };
}

/** Permissions of Deno for the listed variables; `undefined` for all. */
const denoWith = (allowed: string[] | undefined): ProcessGlobals["Deno"] => ({
  permissions: {
    querySync: ({ variable }) => {
      const isAllowed = allowed === undefined ||
        variable !== undefined && allowed.includes(variable);
      return { state: isAllowed ? "granted" : "prompt" };
    },
  },
});

Deno.test("currentProcess() returns undefined on Workers, with and without nodejs_compat", () => {
  assertEquals(currentProcess({}), undefined);
  const { process } = fakeGlobals({});
  assertEquals(
    currentProcess({ process, navigator: { userAgent: "Cloudflare-Workers" } }),
    undefined,
  );
});

Deno.test("variable() returns only permitted variables when Deno permits some", () => {
  const { process } = fakeGlobals({ HOST: "a", PORT: "1" });
  const limited = currentProcess({ process, Deno: denoWith(["HOST"]) })!;
  assertEquals([limited.variable("HOST"), limited.variable("PORT")], ["a", undefined]);
  assertEquals(limited.variableNames(), []);
  assertEquals(limited.permissionHint("HOST"), "");
  assertEquals(limited.permissionHint("PORT"), " (Deno may not read PORT: pass --allow-env)");
});

Deno.test("variableNames() returns all names in Node and Bun, and in Deno when all variables are permitted", () => {
  const { process } = fakeGlobals({ HOST: "a", PORT: "1" });
  for (const others of [{}, { Bun: {} }, { Deno: denoWith(undefined) }]) {
    const current = currentProcess({ process, ...others })!;
    assertEquals(current.variableNames(), ["HOST", "PORT"]);
    assertEquals([current.variable("PORT"), current.isBun], ["1", "Bun" in others]);
  }
});

Deno.test("onStopSignal() exits with the result of its function, and with 130 when a second signal arrives", async () => {
  const { process, listeners, exitCodes } = fakeGlobals({});
  const stopped = Promise.withResolvers<number>();
  currentProcess({ process })!.onStopSignal(() => stopped.promise);
  assertEquals([...listeners.keys()], ["SIGTERM", "SIGINT", "SIGBREAK"]);
  listeners.get("SIGTERM")!();
  assertEquals(exitCodes, []);
  listeners.get("SIGINT")!();
  assertEquals(exitCodes, [130]);
  stopped.resolve(1);
  await stopped.promise;
  await Promise.resolve();
  assertEquals(exitCodes, [130, 1]);
});

Deno.test("onStopSignal() adds the remaining listeners when the system lacks a signal", () => {
  const { process, listeners } = fakeGlobals({}, ["SIGTERM"]);
  currentProcess({ process })!.onStopSignal(() => Promise.resolve(0));
  assertEquals([...listeners.keys()], ["SIGINT", "SIGBREAK"]);
});

Deno.test("hideAbortWarning() hides one warning about aborted signals, and no other warning", () => {
  const { warn } = console;
  const shown: unknown[] = [];
  const record = (line: unknown) => void shown.push(line);
  console.warn = record;
  try {
    hideAbortWarning();
    const warning = "Deno.serve: request.signal aborts on successful responses (legacy behavior).";
    for (const line of ["first", warning, "last"]) console.warn(line);
    assertEquals([shown, console.warn === record], [["first", "last"], true]);
  } finally {
    console.warn = warn;
  }
});
