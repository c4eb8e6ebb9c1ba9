import { lstat, open } from "node:fs/promises";
import { DatasetRecord } from "./dataset_record.ts";
import { FileError, requireReplaceable, statIfExists } from "./files.ts";
import { hashPart } from "./hash_part.ts";
import { PartFile, type PartOptions } from "./part_file.ts";
import {
  MOVE,
  partPathOf,
  type Progressed,
  readLegs,
  readState,
  removeParts,
  RESTART,
  type State,
} from "./part_state.ts";

/** An open part, and how far an earlier run had come; undefined where it begins. */
export interface OpenPart {
  part: PartFile;
  from: Progressed | undefined;
}

/**
 * Opens the part of a file.
 *
 * @param path The path of the file
 * @throws {FileError} If the file or a part exists that the options do not allow to replace, or a
 *   part cannot be resumed
 * @throws {DataStreamError} If the datasets of a part cannot be compared
 */
export async function openPart(path: string, options: PartOptions): Promise<OpenPart> {
  const { question, resume } = options;
  const partPath = partPathOf(path);
  const found = await statIfExists(partPath, lstat);
  const state = !resume || found === undefined
    ? undefined
    : await readState(path, question).catch((error) => {
      // An empty part without a state is that of a run that was killed at its start.
      if (found.size > 0 || !(error instanceof FileError)) throw error;
    });
  const force = options.force || state?.force === true;
  const replaced = await requireReplaceable(path, force, found && resume ? MOVE : undefined);
  if (state?.next !== undefined) {
    if (!found!.isFile()) throw new FileError(`${partPath} is not a regular file: ${RESTART}`);
    return await resumePart(path, { ...options, force }, state);
  }
  if (force || resume) await removeParts(path);
  // Never more open to others than the file that it replaces, and readable to resume.
  const mode = replaced === undefined ? 0o666 : replaced.mode & 0o777 | 0o600;
  const file = await open(partPath, "wx", mode).catch((error) => {
    if (error.code !== "EEXIST") throw error;
    throw new FileError(
      `${partPath} already exists, of a download that is running or was interrupted: continue it with --resume, or ${RESTART}`,
    );
  });
  const part = new PartFile(path, { ...options, force }, file);
  await part.takeOver();
  return { part, from: undefined };
}

async function resumePart(path: string, options: PartOptions, state: State): Promise<OpenPart> {
  const file = await open(partPathOf(path), "r+");
  try {
    const { bytes, sha256, rows, expectedRows, writer, after, missingRows } = state;
    const hash = await hashPart(path, file, bytes, sha256);
    const legs = await readLegs(path, after, state.slot);
    const rest = [...state.next, ...legs];
    const datasets = new DatasetRecord(path, options.requestDatasets);
    if (state.datasets !== undefined) {
      await datasets.read(state.datasets);
      await datasets.compare();
    }
    const part = new PartFile(path, options, file, {
      bytes,
      rows,
      hash,
      legs,
      slot: state.slot,
      datasets,
    });
    await part.takeOver(state);
    return { part, from: { rest, rows, bytes, expectedRows, writer, missingRows } };
  } catch (error) {
    await file.close();
    throw error;
  }
}
