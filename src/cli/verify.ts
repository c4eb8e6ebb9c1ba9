import { join } from "node:path";
import { describeChanges, requestDatasetVersions } from "../client/dataset_versions.ts";
import { resolveOutput, statIfExists } from "../files/output.ts";
import { type AnyPackage, hashOf, packagePath, partPath, readPackage } from "../files/part_file.ts";
import { verifyFile } from "../files/verify.ts";
import { liveFiles } from "../sync/delta.ts";
import { DATA_FOLDERS, openFolder } from "../sync/folder.ts";
import { MANIFEST } from "../mirror_manifest.ts";
import { listedFiles, readManifest, rowsIn } from "../sync/manifest.ts";
import { toWiderMetadataFilter } from "../odata/query_options.ts";
import { PRODUCTION_URL } from "../service_constants.ts";
import type { Arguments } from "./arguments.ts";
import { createReportingClient, readClientOptions } from "./command_query.ts";
import { CommandError, type Context, OUTDATED, UsageError } from "./context.ts";
import { type FlagValues, readQuery } from "./flags.ts";
import { countText } from "./progress_report.ts";

export async function verify({ operand, flags }: Arguments, context: Context): Promise<number> {
  const stats = await statIfExists(operand!);
  if (stats?.isDirectory()) return await verifyMirror(operand!, flags, context);
  if (stats === undefined) {
    throw new CommandError(
      `There is no ${operand}: name a file that weir wrote, or the folder of weir sync`,
    );
  }
  if (!stats.isFile()) {
    throw new CommandError(`${operand} is not a file: name a file that weir wrote`);
  }
  // The package of a symbolic link is next to its target.
  const { path } = await resolveOutput(operand!);
  const recordPath = packagePath(path);
  const found = readPackage(path);
  const hash = await hashOf(path);
  if (found === undefined) {
    const isMissing = await statIfExists(recordPath) === undefined;
    throw new CommandError(
      `${recordPath} is ${isMissing ? "missing" : "not a data package of weir"}: ` +
        "only a file with its package can be verified",
    );
  }
  const { resources: [resource] } = found;
  if (typeof resource.hash !== "string") {
    throw new CommandError(
      `${recordPath} has no hash: download the file with weir, or request the package ` +
        "from the server again, right after the file",
    );
  }
  const { size, rows, differences } = await verifyFile(path, hash, found);
  if (differences.length > 0) {
    context.printError(
      hash === resource.hash
        ? `${recordPath} was changed: ${path} has the hash in it, and differs otherwise`
        : `${recordPath} does not belong to this file, which was changed, or is of another download`,
    );
    differences.forEach((line) => context.printError(`  ${line}`));
    // A run writes the package before the file gets its name.
    if (await statIfExists(partPath(path)) !== undefined) {
      context.printError(`${partPath(path)} is left over from a download: repeat its command`);
    }
    return 1;
  }
  const counted = rows === undefined ? "" : `${countText(rows)}, `;
  await context.print(`${path} is intact: ${counted}${size} bytes, ${hash}\n`);
  return flags.has("online") ? await compareVersions(path, found, flags, context) : 0;
}

/** Compares the files of a mirror with its manifest. A file that it does not list would count twice for engines. */
async function verifyMirror(path: string, flags: FlagValues, context: Context): Promise<number> {
  if (flags.has("online")) {
    throw new UsageError(`--online is for files: weir sync ${path} --check compares a mirror`);
  }
  const folder = openFolder(path);
  const mirror = await readManifest(folder);
  if (mirror === undefined) {
    throw new CommandError(
      `${path} has no ${MANIFEST} of weir: name a file, or the folder of weir sync`,
    );
  }
  const files = listedFiles(mirror);
  const faults: string[] = [];
  for (const { path: name, bytes, hash } of files) {
    const found = await statIfExists(join(path, name));
    if (found === undefined) faults.push(`${name}: is missing`);
    else if (found.size !== bytes) faults.push(`${name}: ${found.size} bytes instead of ${bytes}`);
    else if (await hashOf(join(path, name)) !== hash) {
      faults.push(`${name}: its content was changed`);
    }
  }
  const listed = new Set(files.map(({ path }) => path));
  for (const name of DATA_FOLDERS) {
    const live = mirror.query.format === "delta" ? await liveFiles(folder, name) : undefined;
    // A Delta table keeps files of older versions, which do not count.
    const counted = live ?? (await folder.list(name)).map(({ path }) => path);
    const expected = files.filter((file) => file.path.startsWith(`${name}/`));
    if (mirror.query.format === "delta" && live === undefined && expected.length > 0) {
      faults.push(`${name}/_delta_log: is missing`);
    }
    const others = [...counted].filter((path) => !listed.has(path));
    faults.push(...others.map((path) => `${path}: is not in ${MANIFEST}`));
  }
  faults.forEach((fault) => context.printError(fault));
  if (faults.length > 0) {
    const hint = "remove the files above, then run the command weir sync of this mirror";
    context.printError(`${path} was changed: ${hint}`);
    return 1;
  }
  const rows = [...mirror.datasets.values()].reduce((sum, dataset) => sum + rowsIn(dataset), 0);
  await context.print(
    `${path} is intact: ${countText(mirror.datasets.size, "dataset")}, ` +
      `${countText(files.length, "file")}, ${countText(rows)}\n`,
  );
  return 0;
}

/** Compares the versions in the package with those of the service. Sends one request. */
async function compareVersions(
  path: string,
  { weir: { query, datasets } }: AnyPackage,
  flags: FlagValues,
  context: Context,
): Promise<number> {
  if (query === undefined) {
    throw new CommandError(
      `${packagePath(path)} has no query of weir, such as that of a server: --online needs one`,
    );
  }
  const { resource: _, format: __, service, ...given } = query;
  const options = await readClientOptions(flags, context);
  // Never connects to the service in the package, because a file could name any address to receive the key.
  if (service !== (options.baseUrl ?? PRODUCTION_URL)) {
    const hint = "pass --sandbox, --qa or --base-url as in its download";
    throw new UsageError(`${path} is of ${service}: ${hint}`);
  }
  if (datasets === undefined) {
    context.printError(`${path}: the versions of its datasets are not known`);
    return OUTDATED;
  }
  const values = Object.entries(given).map(([name, value]): [string, string[]] => [
    name,
    value === true ? [""] : [value].flat().map(String),
  ]);
  const filter = toWiderMetadataFilter(readQuery(new Map(values)));
  const { client } = createReportingClient(options, flags, context);
  const now = await requestDatasetVersions(client, filter, context.signal);
  const changes = describeChanges(datasets, now);
  if (changes === undefined) {
    await context.print("Its datasets have no new versions\n");
    return 0;
  }
  context.printError(`${path} is outdated: ${changes}: download it again with --update`);
  return OUTDATED;
}
