import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { oneLine } from "../errors.ts";
import { KEY_SOURCE } from "../service_roots.ts";
import { writing } from "./files.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./usage_error.ts";

/**
 * The API key: of the environment, else of the file that `weir setup` writes.
 *
 * @throws {UsageError} If there is none, or it can be none; the message says where to get one
 */
export async function readKey(io: Io): Promise<string> {
  const given = io.environment("DATASTREAM_API_KEY")?.trim();
  if (given) return requireKey(given, "DATASTREAM_API_KEY");
  const path = keyPath(io.environmentIfAllowed);
  let unread = "";
  const kept = path && (await readFile(path, "utf8").catch((error) => {
    if (error.code !== "ENOENT") unread = ` (its file may not be read: ${oneLine(error)})`;
    return "";
  })).trim();
  if (path && kept) return requireKey(kept, path);
  throw new UsageError(
    `No API key: set DATASTREAM_API_KEY${
      io.howToAllow("DATASTREAM_API_KEY")
    } or run weir setup${unread}; ask for one at ${KEY_SOURCE}, or try --sandbox, which needs none`,
  );
}

/**
 * Keeps a key in a file that only its owner can read.
 *
 * @returns The path of the file
 * @throws {UsageError} If the key is none, or there is no place for it
 */
async function writeKey(key: string, io: Io): Promise<string> {
  requireKey(key, "The key");
  const path = keyPath(io.environment);
  if (path === undefined) {
    throw new UsageError("No place for the key: set HOME or XDG_CONFIG_HOME, and let them be read");
  }
  // Folder by folder: made all at once, every folder above would be looked at.
  const folder = dirname(path);
  for (const name of [dirname(folder), folder]) {
    await mkdir(name, { mode: 0o700 }).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  // The mode counts for a new file alone.
  await writing(path, writeFile(path, "", { mode: 0o600 }));
  await chmod(path, 0o600);
  await writing(path, writeFile(path, `${key}\n`));
  return path;
}

function requireKey(key: string, where: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError(
    `${where} must be visible characters of ASCII, got others or none (not shown)`,
  );
}

/** Where the key is kept, as the XDG Base Directory Specification has it. */
function keyPath(environment: Io["environment"]): string | undefined {
  const config = environment("XDG_CONFIG_HOME");
  if (config) return join(config, "weir", "key");
  const home = environment(process.platform === "win32" ? "USERPROFILE" : "HOME");
  return home ? join(home, ".config", "weir", "key") : undefined;
}

/** Keeps a key that is typed, or comes on standard input, in a file. */
export async function setup(io: Io): Promise<void> {
  io.error(`Ask for a key at ${KEY_SOURCE}.`);
  const key = (await io.askSecret("API key (not shown): ")).trim();
  const path = await writeKey(key, io);
  io.error(
    `Kept in ${path}, for you alone to read. DATASTREAM_API_KEY, where it is set, is used instead.`,
  );
}
