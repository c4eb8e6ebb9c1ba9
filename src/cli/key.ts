import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KEY_SOURCE } from "./help.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./usage_error.ts";

type Environment = Io["environment"];

/**
 * The API key: of the environment, else of the file that `weir setup` writes.
 *
 * @throws {UsageError} If there is none; the message says where to get one
 */
export async function readKey(environment: Environment): Promise<string> {
  const given = environment("DATASTREAM_API_KEY");
  if (given) return given;
  const path = keyPath(environment);
  // Where it may not be read, or is not there, there is no key.
  const kept = path && await readFile(path, "utf8").catch(() => undefined);
  if (kept?.trim()) return kept.trim();
  throw new UsageError(
    `No API key: set DATASTREAM_API_KEY, or run weir setup; ask for one at ${KEY_SOURCE}, or try --sandbox, which needs none`,
  );
}

/**
 * Keeps a key in a file that only its owner can read.
 *
 * @returns The path of the file
 * @throws {UsageError} If the key is none, or there is no place for it
 */
export async function writeKey(key: string, environment: Environment): Promise<string> {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UsageError("A key is visible characters of ASCII, got others or none (not shown)");
  }
  const path = keyPath(environment);
  if (path === undefined) {
    throw new UsageError(
      "No place for the key: set HOME or XDG_CONFIG_HOME, or allow to read them",
    );
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // The mode counts for a new file alone.
  await writeFile(path, "", { mode: 0o600 });
  await chmod(path, 0o600);
  await writeFile(path, `${key}\n`);
  return path;
}

/** Where the key is kept, as the XDG Base Directory Specification has it. */
function keyPath(environment: Environment): string | undefined {
  const home = environment("HOME") || environment("USERPROFILE");
  const config = environment("XDG_CONFIG_HOME") || (home && join(home, ".config"));
  return config ? join(config, "weir", "key") : undefined;
}
