// `weir sync`: keeps a mirror of datasets.
import {
  openFolder,
  sync,
  type SyncedDataset,
  type SyncEvent,
  type SyncQuery,
  type SyncReport,
} from "../sync/sync.ts";
import { MIRROR_RESOURCES } from "../sync/options.ts";
import type { Arguments } from "./arguments.ts";
import { printReasons, readCommandQuery } from "./command_query.ts";
import { type Context, OUTDATED, UsageError } from "./context.ts";
import { type FlagValues, messageOf, readDuration } from "./flags.ts";
import { countText, createLine, duration, withSeparators } from "./progress_report.ts";

export async function syncMirror(
  { operand, flags }: Arguments,
  context: Context,
): Promise<number> {
  if (!operand) throw new UsageError("weir sync needs DIR (the folder of the mirror)");
  const [given] = flags.get("resource") ?? [];
  const resource = MIRROR_RESOURCES.find((name) => name.toLowerCase() === given) ??
    MIRROR_RESOURCES[0];
  const until = readUntil(flags, context.clock.now());
  const keep = readKeep(flags);
  const query = await readCommandQuery(resource, flags, context);
  const { client, input } = query;
  const { filter, within, tidy, from, to, excludeQualityControl, units, incomplete } = input;
  const report = startSyncReport(flags, context);
  const isCheck = flags.has("check");
  try {
    const result = await sync(
      client,
      {
        resource,
        format: flags.get("format")?.[0] as SyncQuery["format"],
        invalidValues: flags.has("allow-invalid") ? "null" : undefined,
        ...{ filter: filter || undefined, within, tidy, from, to, excludeQualityControl, units },
        incomplete,
      },
      openFolder(operand),
      {
        isCheck,
        removeMissing: flags.has("remove-missing"),
        force: flags.has("force"),
        until,
        keep,
        signal: context.signal,
        now: context.clock.now,
        onEvent: report.update,
      },
    );
    report.end();
    if (result.datasets.length === 0) {
      context.printError(`${operand} is as before: no dataset matches the filter`);
      await printReasons(query, 0);
      return 1;
    }
    if (isCheck) await printPlan(result, context);
    else if (!flags.has("quiet")) context.printError(`${operand}: ${summaryOf(result.datasets)}`);
    return exitCodeOf(result.datasets);
  } finally {
    report.end();
  }
}

function exitCodeOf(datasets: readonly SyncedDataset[]): number {
  const has = (...outcomes: SyncedDataset["outcome"][]) =>
    datasets.some(({ outcome }) => outcomes.includes(outcome));
  return has("failed") ? 1 : has("waiting", "gone") ? OUTDATED : 0;
}

/** Words that follow a number of datasets. */
const OUTCOMES = {
  fetched: "fetched",
  unchanged: "unchanged",
  waiting: "waiting for the next run",
  gone: "that DataStream does not have any more (to remove them: --remove-missing)",
  removed: "removed",
  failed: "failed",
} as const satisfies Record<SyncedDataset["outcome"], string>;

function summaryOf(datasets: readonly SyncedDataset[]): string {
  const counts = Object.entries(OUTCOMES).flatMap(([outcome, words]) => {
    const count = datasets.filter((one) => one.outcome === outcome).length;
    return count > 0 ? [`${countText(count, "dataset")} ${words}`] : [];
  });
  const rows = datasets.reduce((sum, { rows = 0 }) => sum + rows, 0);
  return [...counts, countText(rows)].join(", ");
}

/** Seconds, with the time of the response. */
const TIME_OF_REQUEST = 1;

async function printPlan({ datasets, rows, requests }: SyncReport, context: Context) {
  const lines = datasets.filter(({ outcome }) => outcome !== "unchanged")
    .map((dataset) => `${describe(dataset, true)}\n`);
  const fetched = datasets.filter(({ outcome }) => outcome === "fetched").length;
  await context.print(
    `${lines.join("")}To fetch: ${countText(fetched, "dataset")}, ${countText(rows)}, about ` +
      `${countText(requests, "request")}, ${duration(requests * TIME_OF_REQUEST)}\n`,
  );
}

function describe({ doi, outcome, version, rows, before, error }: SyncedDataset, isPlan = false) {
  const counted = rows === undefined ? "" : `, ${countText(rows)}`;
  const earlier = before === undefined ? "new" : `before: ${countText(before)}`;
  const texts: Record<SyncedDataset["outcome"], string> = {
    unchanged: "unchanged",
    fetched: `version ${version}${isPlan ? "" : counted} (${earlier})`,
    waiting: `version ${version} waits for the next run`,
    gone: "DataStream does not have it any more, its files stay",
    removed: "DataStream does not have it any more, its files were removed",
    failed: `failed, ${before === undefined ? "it is not in the mirror" : "its files stay"}: ${
      messageOf(error)
    }`,
  };
  return `${doi}: ${texts[outcome]}`;
}

/** Milliseconds. */
const DRAW_INTERVAL = 250;

/** Prints a line for each dataset that is not unchanged. On a terminal, also redraws one while rows arrive. */
function startSyncReport(flags: FlagValues, { printError, terminal, clock }: Context) {
  const isQuiet = flags.has("quiet");
  const line = terminal && !isQuiet ? createLine(terminal) : undefined;
  const started = clock.now();
  let drawn = -Infinity;
  const clear = () => {
    if (line?.isDrawn) line.clear();
  };
  return {
    update(event: SyncEvent) {
      const { dataset } = event;
      const now = clock.now();
      const hidden = isQuiet ? ["unchanged", "waiting", "gone"] : ["unchanged"];
      if (dataset !== undefined && !hidden.includes(dataset.outcome)) {
        clear();
        printError(describe(dataset));
      }
      if (line === undefined || event.allDatasets === 0) return;
      if (dataset === undefined && now - drawn < DRAW_INTERVAL) return;
      drawn = now;
      line.draw(() => progressOf(event, now - started));
    },
    end: clear,
  };
}

function progressOf(
  { datasets, allDatasets, rows, allRows }: SyncEvent,
  elapsed: number,
): string {
  const left = rows > 0 ? Math.max(0, allRows - rows) / rows * elapsed / 1000 : 0;
  return `${datasets} of ${countText(allDatasets, "dataset")}, ${withSeparators(rows)} of ` +
    `${countText(Math.max(rows, allRows))}${left > 0 ? `, ${duration(left)} left` : ""}`;
}

/** Returns the next time (ms since 1970) of the computer's clock with these hours and minutes. */
function readUntil(flags: FlagValues, now: number): number | undefined {
  const [text] = flags.get("until") ?? [];
  if (text === undefined) return undefined;
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined) {
    throw new UsageError(`--until must be a time of the day, such as 06:00, got "${text}"`);
  }
  const until = new Date(now);
  until.setHours(Number(hours), Number(minutes), 0, 0);
  if (until.getTime() <= now) until.setDate(until.getDate() + 1);
  return until.getTime();
}

function readKeep(flags: FlagValues): number | undefined {
  const [text] = flags.get("keep") ?? [];
  if (text === undefined) return undefined;
  if (flags.get("format")?.[0] !== "delta") {
    throw new UsageError("--keep is for --format delta: other formats keep no older versions");
  }
  const keep = readDuration(text);
  if (keep !== undefined) return keep;
  throw new UsageError(
    `--keep must be a number of hours, days or weeks, such as 7d, got "${text}"`,
  );
}
