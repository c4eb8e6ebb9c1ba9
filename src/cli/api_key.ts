import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { oneLine } from "../errors.ts";
import { API_KEY_PATTERN, KEY_SOURCE } from "../service_constants.ts";
import type { Arguments } from "./arguments.ts";
import { CommandError, type Context, UsageError } from "./context.ts";
import { explainingErrors } from "../files/output.ts";

const HOME = process.platform === "win32" ? "USERPROFILE" : "HOME";

/** Neither the environment nor a file has a key. */
export class MissingKey extends UsageError {}

/** Without a key in the environment, reads the file that `weir setup` writes. */
export async function readKey(context: Context): Promise<string> {
  const variable = context.environment("DATASTREAM_API_KEY")?.trim();
  if (variable) return requireKeyFrom(variable, "DATASTREAM_API_KEY");
  const path = keyPath(context.environmentIfAllowed);
  let failure = "";
  const saved = path && (await readFile(path, "utf8").catch((error) => {
    if (error.code !== "ENOENT") failure = ` (its file cannot be read: ${oneLine(error)})`;
    return "";
  })).trim();
  if (path && saved) return requireKeyFrom(saved, path);
  const permission = context.permissionHint("DATASTREAM_API_KEY");
  throw new MissingKey(
    `No API key: set DATASTREAM_API_KEY${permission}, or run weir setup${failure}; ` +
      `request a key at ${KEY_SOURCE}, or pass --sandbox, which needs none`,
  );
}

/** Only the owner of the file can read it. */
export async function setup({ flags }: Arguments, context: Context): Promise<void> {
  context.printError(`Request an API key at ${KEY_SOURCE}.`);
  const key = (await context.promptSecret("API key (not shown): ")).trim();
  if (key === "") {
    throw new UsageError("No key: type it, or pass it on standard input: weir setup < key.txt");
  }
  requireKeyFrom(key, "The key");
  const path = keyPath(context.environment);
  if (path === undefined) {
    throw new UsageError(
      `No directory for the key: set ${HOME} or XDG_CONFIG_HOME, and permit reading it`,
    );
  }
  const mayReplace = async () =>
    flags.has("force") ||
    await context.confirm(`${path} already has a key. Replace it? (y/N) `);
  await explainingErrors(path, writeKey(path, key, mayReplace));
  context.printError(
    `Saved in ${path}, which only you can read. The variable DATASTREAM_API_KEY overrides it.`,
  );
}

async function writeKey(
  path: string,
  key: string,
  mayReplace: () => Promise<boolean>,
): Promise<void> {
  // Without `recursive`, which would need the permission to read every folder above.
  const folder = dirname(path);
  for (const name of [dirname(folder), folder]) {
    await mkdir(name, { mode: 0o700 }).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  try {
    await writeFile(path, `${key}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
    if (!await mayReplace()) {
      throw new CommandError(`${path} already has a key: pass --force to replace it`);
    }
    // Before the key is written, because the file of an earlier key has its own mode.
    await chmod(path, 0o600);
    await writeFile(path, `${key}\n`);
  }
}

function requireKeyFrom(key: string, source: string): string {
  if (API_KEY_PATTERN.test(key)) return key;
  throw new UsageError(
    `${source} must consist of visible ASCII characters, without spaces and quotes (value not shown)`,
  );
}

/** XDG Base Directory Specification. */
export function keyPath(environment: Context["environment"]): string | undefined {
  const config = environment("XDG_CONFIG_HOME");
  if (config) return join(config, "weir", "key");
  const home = environment(HOME);
  return home ? join(home, ".config", "weir", "key") : undefined;
}
