/**
 * All of publishing to JSR but the upload: types that publishing cannot infer, imports that do not
 * resolve, and the list of files. Where JSR cannot be reached, the same with @std from npm, and a
 * line that says so. Usage: `publish_check.ts`.
 */
import { pathToFileURL } from "node:url";
import { PROJECT } from "../tests/helpers/project.ts";
import { denoWithPublishConfig, run } from "./publish_config.ts";

const PUBLISH = ["publish", "--dry-run", "--allow-dirty"] as const;

const jsr = Deno.env.get("JSR_URL") ?? "https://jsr.io/";
const fault = await whyUnreachable(new URL("@std/csv/meta.json", jsr));
try {
  const printed = fault === undefined
    // The lock is deno.json's: it knows @std from npm.
    ? await run(Deno.execPath(), [...PUBLISH, "--no-lock", "--config", "jsr.json"])
    : await denoWithPublishConfig({}, ...PUBLISH);
  console.log(
    printed.replaceAll(pathToFileURL(PROJECT).href, "").replace(/^ *\.publish-.*\n/m, ""),
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
if (fault !== undefined) {
  console.log(
    `Not checked: that jsr.json's @std packages resolve; ${jsr} cannot be reached, ${fault}`,
  );
}

async function whyUnreachable(url: URL): Promise<string | undefined> {
  try {
    const { ok, status, body } = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    await body?.cancel();
    return ok ? undefined : `it answers ${status}`;
  } catch (error) {
    return String(error).replaceAll(/\s+/g, " ");
  }
}
