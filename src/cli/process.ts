import process from "node:process";
import { setExitCode } from "./context.ts";
import { main } from "./main.ts";
import { useProxy } from "./proxy.ts";

export async function runProcess(first: readonly string[]): Promise<void> {
  await useProxy();
  setExitCode(await main([...first, ...process.argv.slice(2)]));
}
