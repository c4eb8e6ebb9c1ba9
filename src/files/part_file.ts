// The files of a download to FILE:
//
// - FILE.part: the rows so far, renamed to FILE when they are complete;
// - FILE.part.json: the query, the versions of datasets, the cursor, number of bytes and hash after the last page, and
//   the run that writes the part;
// - FILE.datapackage.json: the package of a finished FILE, with its hash, query and dataset versions;
// - FILE.changed: an edited FILE that was replaced.
//
// The package gets its name directly before FILE. A run that is killed in between leaves FILE.part, which the next run
// completes.
//
// JSON files are written as NAME.new, then renamed, because the process can be killed at any time. They are written
// synchronously, directly after the check that the part still belongs to the run.
import { createHash, type Hash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { describeChanges } from "../client/dataset_versions.ts";
import type { Cursor } from "../client/query.ts";
import type { Clock } from "../clock.ts";
import { oneLine } from "../errors.ts";
import type { DatasetVersion } from "../formats/citations.ts";
import { type DataPackage, sealPackage } from "../formats/data_package.ts";
import type { RowNotes } from "../formats/tidy.ts";
import { isObject } from "../validation.ts";
import {
  copyPermissions,
  type DownloadPage,
  explainingErrors,
  FileError,
  type Output,
  REPLACE,
  replaceFile,
  requireReplaceable,
  statIfExists,
} from "./output.ts";
import { describeOwner, isRunning, type Owner, RENEWAL, startRun } from "./owner.ts";

/** The inputs that determine the content of a file: the resource, the service, and values of flags by name. */
export type QueryRecord = Readonly<Record<string, unknown>>;

/** Members of a file's package that a package from a server does not have. */
export interface FileOrigin {
  query: QueryRecord;
  /** Number of rows that the service counted and did not deliver. */
  missingRows: number;
  /** Number of rows that the service delivered and did not count. */
  surplusRows: number;
  /** Facts about the rows, such as the number of locations without a geometry. */
  notes?: RowNotes | undefined;
  /** Cursor after the last row. With it, the client recognizes the same query in other flags. */
  cursor: Cursor;
}

/** Package of a file that the command line has downloaded. */
export type FilePackage = DataPackage<FileOrigin>;

/** Package of a file, or of a document of a server, which has no flags. */
export type AnyPackage = DataPackage<Partial<FileOrigin>>;

/** Properties of a complete file. */
export interface FileFacts {
  path: string;
  bytes: number;
  hash: string;
  rows: number;
  origin: FileOrigin;
}

/** Which FILE a run may replace: none, one that weir wrote for this query, or any. */
type Replaceable = "none" | "own" | "any";

/** Content of FILE.part.json. */
interface PartState {
  version: typeof STATE_VERSION;
  query: QueryRecord;
  replaces: Replaceable;
  /** Number of bytes of the complete pages. */
  bytes: number;
  /** Hash of these bytes. */
  hash: string;
  /** Cursor after the last complete page; `undefined` before the first one. */
  cursor?: Cursor;
  /** Versions of the datasets that match the query. */
  datasets?: readonly DatasetVersion[];
  /** The run that writes the part; absent after a run that ended in another way than by being killed. */
  owner?: Owner | undefined;
}

/** Version of the format of FILE.part.json. */
const STATE_VERSION = 10;

const NEW_PART: Pick<PartState, "version" | "bytes" | "hash" | "cursor"> = {
  version: STATE_VERSION,
  bytes: 0,
  hash: hashText(createHash("sha256")),
};

/** Options for {@linkcode findFile} and {@linkcode openFile}. */
export interface FileOptions {
  /** The flag `--update` or `--force`, or neither. */
  mode: keyof typeof ACTIONS.nothing | "force";
  query: QueryRecord;
  /** Whether a cursor belongs to the query. Different flags can mean the same query. */
  isSameQuery(cursor: Cursor): boolean;
  /** Called with the reason before an existing part is discarded. */
  onRestart(reason: string): void;
  describe(facts: FileFacts): FilePackage;
  /** Time in ms since 1970. */
  clock: Clock;
}

/** What to do, by what an earlier run left and the flag. With `--force`, a run always starts. */
const ACTIONS = {
  nothing: { default: "start", update: "start" },
  part: { default: "continue", update: "continue" },
  damagedPart: { default: "refuse", update: "start" },
  complete: { default: "keep", update: "compare" },
  changed: { default: "refuse", update: "start" },
  other: { default: "refuse", update: "refuse" },
  running: { default: "refuse", update: "refuse" },
} as const;

type FileState = keyof typeof ACTIONS;

/** What to do instead of what is refused. */
const HINTS: Readonly<Partial<Record<FileState, string>>> = {
  damagedPart: "pass --update to start again",
  changed: "pass --update to download it again, which keeps this file under another name",
  other: REPLACE,
  running: "wait for it, or take over with --force",
};

/** What an earlier run left. */
interface Found {
  state: FileState;
  /** Why FILE or its part is refused or downloaded again. */
  reason?: string | undefined;
  /** Package of FILE, if it belongs to this query. */
  finished?: FilePackage | undefined;
  /** The part to continue, and the hash of its bytes. */
  part?: { saved: PartState; hash: Hash } | undefined;
}

/** What an earlier run left, and what this run does. */
export interface FoundFile extends Omit<Found, "state"> {
  action: "start" | "continue" | "keep" | "compare";
  replaces: Replaceable;
}

/** The part cannot be continued. The message says what to do instead. */
export class PartError extends FileError {}

/** The output to a file; `after` is the cursor after the last page of a part that is continued. */
export interface OpenFile {
  output: Output;
  /** Whether the download may replace FILE. */
  isReplacing: boolean;
  after?: Cursor | undefined;
}

export function packagePath(path: string): string {
  return `${path}.datapackage.json`;
}

export function partPath(path: string): string {
  return `${path}.part`;
}

function filesOf(path: string) {
  return { part: partPath(path), state: `${path}.part.json`, dataPackage: packagePath(path) };
}

/** Returns the paths of all files that a download to FILE can write, including FILE itself. */
export function pathsOf(path: string): string[] {
  const { part, state, dataPackage } = filesOf(path);
  return [path, part, state, dataPackage, `${state}.new`, `${dataPackage}.new`];
}

/**
 * Finds what earlier runs left at FILE, and decides what this run does. Sends no request.
 *
 * @throws {FileError} If FILE or its part may not be replaced, or another run writes it
 */
export async function findFile(path: string, options: FileOptions): Promise<FoundFile> {
  return await explainingErrors(path, findFiles(path, options));
}

async function findFiles(path: string, options: FileOptions): Promise<FoundFile> {
  for (const name of pathsOf(path)) {
    if ((await statIfExists(name, lstat))?.isDirectory()) {
      throw new FileError(`${name} is a directory: rename it, or choose another file`);
    }
  }
  const { mode } = options;
  // Whatever is there.
  if (mode === "force") return { action: "start", replaces: "any" };
  const { state, part, reason } = await findPart(path, options);
  if (reason !== undefined) {
    decide(state, mode, reason);
    removePart(path);
  }
  const { state: fileState, ...file } = await findFinished(path, options);
  const replaces = file.finished === undefined ? "none" : "own";
  if (part !== undefined && (fileState === "nothing" || part.saved.replaces !== "none")) {
    return { ...file, action: decide("part", mode), part, replaces: part.saved.replaces };
  }
  return { reason, ...file, action: decide(fileState, mode, file.reason), replaces };
}

/** Throws the reason if this is refused. */
function decide(state: FileState, mode: FileOptions["mode"], reason?: string) {
  const action = mode === "force" ? "start" : ACTIONS[state][mode];
  if (action === "refuse") throw new FileError(`${reason}: ${HINTS[state]}`);
  return action;
}

/** Error for a part whose datasets were published again. */
export function publishedAgain(path: string, changes: string): PartError {
  return new PartError(`${describePublication(path, changes)}: ${HINTS.damagedPart}`);
}

/** Describes another run that writes the part; `undefined` if there is none. */
function describeRun(path: string, { now }: Clock): string | undefined {
  const { part } = filesOf(path);
  const { owner } = readState(path) ?? {};
  const isFile = lstatSync(part, { throwIfNoEntry: false })?.isFile();
  if (!isFile || owner === undefined || !isRunning(owner, part, now())) return undefined;
  return `${part} is written by another run (${describeOwner(owner, now())})`;
}

/**
 * Finds the part of an earlier run. One without a complete page of a query counts as nothing, because a run that is
 * killed at its start leaves one.
 */
async function findPart(
  path: string,
  { query, isSameQuery, clock }: FileOptions,
): Promise<Found> {
  const { part, state: statePath } = filesOf(path);
  const file = await statIfExists(part, lstat);
  if (file === undefined) return { state: "nothing" };
  const running = describeRun(path, clock);
  if (running !== undefined) return { state: "running", reason: running };
  const saved = readState(path);
  const isReadable = saved?.version === STATE_VERSION && isObject(saved.query);
  if (file.isFile() && (file.size === 0 || isReadable && saved.cursor === undefined)) {
    return { state: "nothing" };
  }
  const isSame = isReadable && isSameQuery(saved.cursor!);
  const differences = isReadable && !isSame ? describeDifferences(saved.query, query) : undefined;
  if (differences !== undefined) {
    return { state: "other", reason: `${part} belongs to another query (${differences})` };
  }
  const hash = createHash("sha256");
  const reason = !isSame
    ? `${statePath} is missing, damaged or of another version of weir`
    : !file.isFile()
    ? `${part} is not a regular file`
    : await findDamage(part, saved, hash);
  if (reason !== undefined) return { state: "damagedPart", reason };
  return { state: "part", part: { saved: saved!, hash } };
}

/** Finds a finished download of the query. */
async function findFinished(
  path: string,
  { query, isSameQuery }: FileOptions,
): Promise<Found> {
  if (await statIfExists(path) === undefined) return { state: "nothing" };
  const finished = readPackage(path);
  if (!isFilePackage(finished)) {
    const reason = `${path} already exists, without ${packagePath(path)}, which names its query`;
    return { state: "other", reason };
  }
  const differences = describeDifferences(finished.weir.query, query);
  if (differences !== undefined && !isSameQuery(finished.weir.cursor)) {
    return { state: "other", reason: `${path} is the result of another query (${differences})` };
  }
  if (finished.resources[0].hash !== await hashOf(path)) {
    return { state: "changed", finished, reason: `${path} was changed since weir wrote it` };
  }
  // A run that was killed just after it renamed FILE.part leaves FILE.part.json.
  if (!existsSync(partPath(path))) removeState(path);
  return { state: "complete", finished };
}

/**
 * Starts or continues the part of FILE.
 *
 * @param planned Versions of the datasets that match the query; `undefined` if they are not known
 * @throws {FileError} If the part has rows of other versions, FILE is read-only, or another run was faster
 */
export async function openFile(
  path: string,
  found: FoundFile,
  planned: readonly DatasetVersion[] | undefined,
  options: FileOptions,
): Promise<OpenFile> {
  return await explainingErrors(path, openPart(path, found, planned, options));
}

async function openPart(
  path: string,
  { part, replaces }: FoundFile,
  planned: readonly DatasetVersion[] = [],
  options: FileOptions,
): Promise<OpenFile> {
  const changes = part && describeChanges(part.saved.datasets ?? [], planned);
  if (changes !== undefined) {
    const reason = describePublication(path, changes);
    decide("damagedPart", options.mode, reason);
    options.onRestart(reason);
    part = undefined;
  }
  await requireReplaceable(path, replaces !== "none");
  // It may have started while versions were requested.
  const running = describeRun(path, options.clock);
  if (running !== undefined) decide("running", options.mode, running);
  if (part === undefined) removePart(path);
  const output = await createOutput(path, part, replaces, options);
  return { output, isReplacing: replaces !== "none", after: part?.saved.cursor };
}

/** The part of FILE, as long as this run writes it. */
interface Claim {
  file: FileHandle;
  /** Throws if the part belongs to another run, or was moved or removed. */
  check(): void;
  /** Writes FILE.part.json, directly after a check. */
  commit(changes: Partial<PartState>): void;
  release(): Promise<void>;
}

/**
 * Makes a new part, or the part of an earlier run, belong to this run. FILE.part.json names the run.
 *
 * A run that has lost its part to another one notices that before its next commit: the part has another inode, or
 * FILE.part.json names another run. A write that has already begun does no harm, because the part is compared with its
 * hash before it becomes FILE.
 */
async function claim(
  path: string,
  earlier: PartState | undefined,
  replaces: Replaceable,
  { query, clock }: FileOptions,
): Promise<Claim> {
  const { part, state: statePath } = filesOf(path);
  const takenOver = () => {
    const { owner } = readState(path) ?? {};
    const by = owner ? `another run (${describeOwner(owner, clock.now())})` : "another run";
    const hint = "wait for that run, or pass --force to start again";
    return new PartError(`${part} was taken over by ${by}, moved or removed: ${hint}`);
  };
  // The part gets the permissions of FILE. The owner may always read and write it, because a later run must.
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0o666;
  const file = await open(part, earlier ? "r+" : "wx+", mode & 0o777 | 0o600).catch((error) => {
    throw error.code === "EEXIST" ? takenOver() : error;
  });
  const { ino } = await file.stat();
  const { owner, end } = startRun(part);
  const stopped = new AbortController();
  const release = async () => {
    stopped.abort("stopped");
    end();
    await file.close();
  };
  let state: PartState = earlier ?? { ...NEW_PART, query, replaces };
  const isNamed = () => lstatSync(part, { throwIfNoEntry: false })?.ino === ino;
  const check = (isOwn = isNamed() && readState(path)?.owner?.run === owner.run) => {
    if (!isOwn) throw takenOver();
  };
  const write = (changes: Partial<PartState> = {}) => {
    state = { ...state, owner: { ...owner, renewedAt: clock.now() }, ...changes };
    replaceFile(statePath, JSON.stringify(state));
  };
  const renew = async () => {
    for (;;) {
      await clock.sleep(RENEWAL, stopped.signal);
      check();
      write();
    }
  };
  try {
    // Another run may have replaced the part since this one opened it.
    check(isNamed());
    write();
  } catch (error) {
    // An empty part is of no use, for example after the disk was full.
    if (earlier === undefined && isNamed()) removePart(path);
    await release();
    throw error;
  }
  renew().catch(() => {}); // after a failure, the time becomes stale
  const commit = (changes: Partial<PartState>) => {
    check();
    write(changes);
  };
  return { file, release, check: () => check(), commit };
}

/**
 * Creates the output that writes FILE.part page by page.
 *
 * A page is committed once its bytes are on disk and a FILE.part.json that includes them has been renamed into place. A
 * run that continues overwrites the bytes after the last committed page.
 */
async function createOutput(
  path: string,
  earlier: FoundFile["part"],
  replaces: Replaceable,
  options: FileOptions,
): Promise<Output> {
  const { part } = filesOf(path);
  const { file, check, commit, release } = await claim(path, earlier?.saved, replaces, options);
  const hash = earlier?.hash ?? createHash("sha256");
  let { bytes, cursor: committed } = earlier?.saved ?? NEW_PART;
  let last: DownloadPage | undefined;

  const write = async (page: DownloadPage, datasets?: readonly DatasetVersion[]) => {
    const { data, cursor, isLast } = page;
    check();
    hash.update(data);
    await writeAt(file, data, bytes);
    bytes += data.length;
    last = page;
    // The end of the document is not committed: a run that continues writes it again.
    if (isLast || datasets === undefined) return;
    await file.datasync();
    commit({ bytes, hash: hashText(hash), cursor, datasets });
    committed = cursor;
  };
  const finish = async () => {
    check();
    await file.truncate(bytes);
    const { cursor, totalRows: rows, missingRows, surplusRows } = last!;
    const origin = { query: options.query, missingRows, surplusRows, cursor };
    const facts = { path, bytes, hash: hashText(hash), rows, origin };
    // The open file, because another run can have moved or removed the part.
    if (await hashBytes(file, createHash("sha256"), bytes) !== facts.hash) {
      throw new PartError(`${describeOtherBytes(part, bytes)}: ${HINTS.damagedPart}`);
    }
    const kept = await nameOfChanged(path, replaces, options);
    const replaced = await requireReplaceable(path, replaces !== "none");
    if (replaced !== undefined) await copyPermissions(file, replaced);
    await file.sync();
    const description = await sealPackage(options.describe(facts));
    nameFile(path, { check, commit }, description, replaces, kept);
    await release();
    return { bytes, kept };
  };
  const abandon = async () => {
    let rows = 0;
    try {
      check();
      rows = committed?.rows ?? 0;
      if (rows === 0) removePart(path);
      else commit({ owner: undefined });
    } catch {
      // With a full disk, the next run looks for the process.
    }
    await release();
    return rows > 0 ? { path: part, rows } : undefined;
  };
  return {
    write: (page, datasets) => explainingErrors(path, write(page, datasets)),
    finish: () => explainingErrors(path, finish()),
    abandon,
  };
}

/**
 * Gives a complete part and its package their names. Synchronous, because another run can take over the part.
 *
 * @param kept Name by which FILE is kept; `undefined` if it is not
 */
function nameFile(
  path: string,
  { check, commit }: Pick<Claim, "check" | "commit">,
  description: FilePackage,
  replaces: Replaceable,
  kept: string | undefined,
): void {
  const { part, dataPackage } = filesOf(path);
  check();
  if (kept !== undefined) renameSync(path, kept);
  // If this run is killed now, the next one must not compare the FILE of before with the new package.
  if (replaces === "own") commit({ replaces: "any" });
  replaceFile(dataPackage, `${JSON.stringify(description, null, 2)}\n`);
  check();
  renameSync(part, path);
  removeState(path);
}

/** Writes bytes at an offset. The system can write fewer at a time. */
async function writeAt(file: FileHandle, data: Uint8Array, offset: number): Promise<void> {
  for (let at = 0; at < data.length;) {
    at += (await file.write(data, at, data.length - at, offset + at)).bytesWritten;
  }
}

/** Returns the name by which a FILE is kept that was changed since weir wrote it; `undefined` if it is not kept. */
async function nameOfChanged(
  path: string,
  replaces: Replaceable,
  options: FileOptions,
): Promise<string | undefined> {
  if (replaces !== "own") return undefined;
  const { state, reason } = await findFinished(path, options);
  if (state === "other") throw new FileError(`${reason}: ${REPLACE}`);
  if (state !== "changed") return undefined;
  let name = `${path}.changed`;
  for (let number = 2; existsSync(name); number++) name = `${path}.changed-${number}`;
  return name;
}

/** Returns the package of FILE; `undefined` if there is none that weir or its server has written. */
export function readPackage(path: string): AnyPackage | undefined {
  const found = readJson(packagePath(path));
  return isPackage(found) ? found : undefined;
}

/** Whether a value has the members of a package that are read. The cursor is validated by the client. */
function isFilePackage(value: unknown): value is FilePackage {
  return isPackage(value) && isObject(value.weir.query) && isObject(value.weir.cursor) &&
    typeof value.resources[0].hash === "string";
}

/** Whether a value has the members of a package that `verify` reads. */
function isPackage(value: unknown): value is AnyPackage {
  const { weir, resources } = (value ?? {}) as Partial<AnyPackage>;
  const [{ schema, dialect }] = Array.isArray(resources) && isObject(resources[0])
    ? resources
    : [{} as Partial<AnyPackage["resources"][0]>];
  return isObject(weir) && Array.isArray(schema?.fields) &&
    schema.fields.every((field) => typeof field?.name === "string") &&
    (dialect === undefined || isObject(dialect)) &&
    (weir.datasets === undefined ||
      Array.isArray(weir.datasets) && weir.datasets.every(Array.isArray));
}

function describeDifferences(before: QueryRecord, after: QueryRecord): string | undefined {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const texts = [...names].filter((name) =>
    JSON.stringify(before[name]) !== JSON.stringify(after[name])
  ).map((name) => {
    const label = ["resource", "service"].includes(name) ? name : `--${name}`;
    return `${label} was ${showValue(before[name])}, is ${showValue(after[name])}`;
  });
  return texts.length === 0 ? undefined : texts.join("; ");
}

/** Maximum number of characters of a value in a message. */
const MAX_SHOWN = 100;

function showValue(value: unknown): string {
  if (value === undefined) return "not given";
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function describePublication(path: string, changes: string): string {
  return `DataStream has published new data since ${filesOf(path).part} was started (${changes})`;
}

function readState(path: string): PartState | undefined {
  return readJson(filesOf(path).state) as PartState | undefined;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) ?? undefined;
  } catch (error) {
    // After other errors of the file system, such as EACCES, the file may be valid. A SyntaxError has no code.
    if (error instanceof Error && "code" in error && error.code !== "ENOENT") throw error;
    return undefined;
  }
}

/** Bytes. */
const READ_SIZE = 1 << 20;

/** Returns the hash of a file, or of its first bytes. */
export async function hashOf(
  path: string,
  length: number = Infinity,
  hash: Hash = createHash("sha256"),
): Promise<string> {
  const file = await open(path, "r");
  try {
    return await hashBytes(file, hash, length);
  } catch (error) {
    // Node's read errors have no path.
    throw new FileError(`Cannot read ${path}: ${oneLine(error)}`, { cause: error });
  } finally {
    await file.close();
  }
}

/** Updates a hash with the first bytes of a file. */
async function hashBytes(file: FileHandle, hash: Hash, length: number): Promise<string> {
  const buffer = new Uint8Array(READ_SIZE);
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_SIZE, length - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hashText(hash);
}

/** Returns the text of a hash of the bytes so far. The hash can still be updated. */
function hashText(hash: Hash): string {
  return `sha256:${hash.copy().digest("hex")}`;
}

/** Updates a hash with the bytes of the complete pages. Returns how they differ from what weir wrote, if they do. */
async function findDamage(
  part: string,
  { bytes, hash: expected }: Pick<PartState, "bytes" | "hash">,
  hash: Hash,
): Promise<string | undefined> {
  const { size } = (await statIfExists(part))!;
  if (size < bytes) return `${part} was changed: it has ${size} bytes, weir wrote ${bytes}`;
  if (await hashOf(part, bytes, hash) === expected) return undefined;
  return describeOtherBytes(part, bytes);
}

function describeOtherBytes(part: string, bytes: number): string {
  return `${part} was changed: its first ${bytes} bytes differ from what weir wrote`;
}

/** Removes FILE.part.json, and files that a killed run did not rename. */
function removeState(path: string): void {
  const { state, dataPackage } = filesOf(path);
  for (const name of [`${state}.new`, `${dataPackage}.new`, state]) rmSync(name, { force: true });
}

function removePart(path: string): void {
  rmSync(filesOf(path).part, { force: true });
  removeState(path);
}
