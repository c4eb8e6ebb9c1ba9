/**
 * Runs `deno publish --dry-run`, which checks types and imports and lists the files.
 *
 * Without access to JSR, it resolves @std from npm and prints a line that says so. Usage:
 * `publish_check.ts`.
 */
import { pathToFileURL } from "node:url";
import { PROJECT } from "../tests/helpers/project.ts";
import { denoWithPublishConfig, run } from "./publish_config.ts";

const PUBLISH = ["publish", "--dry-run", "--allow-dirty"] as const;

const jsr = Deno.env.get("JSR_URL") ?? "https://jsr.io/";
const failure = await findConnectionError(new URL("@std/csv/meta.json", jsr));
try {
  const printed = failure === undefined
    // deno.lock holds the @std packages of npm.
    ? await run(Deno.execPath(), [...PUBLISH, "--no-lock", "--config", "jsr.json"])
    : await denoWithPublishConfig({}, ...PUBLISH);
  console.log(
    printed.replaceAll(pathToFileURL(PROJECT).href, "").replace(/^ *\.publish-.*\n/m, ""),
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
if (failure !== undefined) {
  console.log(`Not checked: whether jsr.json's @std packages resolve. ${jsr} failed: ${failure}`);
}

/** Returns the reason why a URL cannot be fetched, or `undefined` if it can. */
async function findConnectionError(url: URL): Promise<string | undefined> {
  try {
    const { ok, status, body } = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    await body?.cancel();
    return ok ? undefined : `status ${status}`;
  } catch (error) {
    return String(error).replaceAll(/\s+/g, " ");
  }
}
