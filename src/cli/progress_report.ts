import { systemClock } from "../clock.ts";
import { amendError, type DataStreamError, oneLine } from "../errors.ts";
import { ANSWERS_AGAIN, describeService } from "../client/http_error.ts";
import type { Cursor, Progress } from "../client/query.ts";
import type { ServiceState } from "../client/rate_limiter.ts";
import type { Context } from "./context.ts";
import { messageOf } from "./flags.ts";

/** Milliseconds. */
const DRAW_INTERVAL = 250;
/** Milliseconds. A shorter download leaves no line on a terminal. */
const SHORT_DOWNLOAD = 1_000;
/** Characters. */
const MAX_ERROR_LENGTH = 80;

export interface ReportOptions {
  isQuiet: boolean;
  /** False if the same terminal shows the rows. */
  mayDraw: boolean;
  /** `Infinity` without a limit. */
  limit: number;
  after: Pick<Cursor, "rows" | "expectedRows"> | undefined;
}

/** Milliseconds: retries that end earlier are not shown. */
const SHORT_RETRIES = 2_000;

/** Shows a retry in `wait` ms, with what is known about the service. */
export type ShowRetry = (fault: DataStreamError, wait: number, service: ServiceState) => void;

/** For commands without progress. The 2 s begin with the command, which has shown nothing until then. */
export function startRetryReport(
  { printError, clock }: Pick<Context, "printError" | "clock">,
  isQuiet: boolean,
): ShowRetry {
  const lines = startRetryLines();
  return (fault, wait, service) => {
    const isDue = !isQuiet && lines.isDue(wait, service);
    if (isDue) printError(retryLine({ fault, service }, wait, clock.now()));
  };
}

/** The lines about retries: none about short ones, and one for each state in which the service does not answer. */
function startRetryLines() {
  const started = systemClock.now();
  let told: ServiceState["is"] = "answering";
  return {
    isDue(wait: number, { is }: ServiceState): boolean {
      if (systemClock.now() - started + wait < SHORT_RETRIES) return false;
      const isDue = is === "answering" || is !== told;
      told = is;
      return isDue;
    },
    /** Returns whether a line says that the service does not answer. */
    onAnswer(): boolean {
      const hasTold = told !== "answering";
      told = "answering";
      return hasTold;
    },
  };
}

interface Retry {
  fault: DataStreamError;
  service: ServiceState;
}

/** A line that is printed once. `now` is in ms since 1970, and `rows` a number of rows in words. */
function retryLine(retry: Retry, wait: number, now: number, rows?: string): string {
  return retry.service.is === "answering"
    ? retryText(retry, wait, now, rows)
    : describeFault(retry, now, ", so weir waits and tries again");
}

function retryText(
  retry: Retry,
  wait: number,
  now: number,
  rows = "",
  width = Infinity,
): string {
  const text = describeFault(retry, now);
  const time = `Retrying in ${duration(wait / 1000)}`;
  const line = `${time}: ${text}`;
  const longLine = rows === "" ? line : `${time}, ${rows}: ${text}`;
  return longLine.length <= width ? longLine : line;
}

function describeFault({ fault, service }: Retry, now: number, end = ""): string {
  const { kind, detail } = fault;
  const { is } = service;
  if (is !== "answering") {
    const state = describeService(service, now) + end;
    // The hint says what a person can check now.
    const hasHint = kind === "network" || is === "blocked";
    return hasHint ? messageOf(amendError(fault, { detail: state })) : state;
  }
  if (detail.length <= MAX_ERROR_LENGTH) return detail;
  const start = detail.slice(0, MAX_ERROR_LENGTH);
  return `${start}…${start.includes("(") && !start.includes(")") ? ")" : ""}`;
}

export interface ProgressReport {
  /** After a page. */
  update(progress: Progress): void;
  retry: ShowRetry;
  /** Prints why the download waits and then begins again, and shows the rest of the time (ms). */
  wait(reason: string, time: number): void;
  /** Ends the line of a download that failed. */
  end(): void;
  /** Prints a summary. `bytes` and `file` are `undefined` for standard output, and `groups` if the file has the rows. */
  finish(bytes?: number, file?: string, groups?: number): void;
}

/** On a terminal, in one line that is redrawn; else in one line per page. */
export function startReport(
  { printError, terminal, clock, onProgress }: Pick<
    Context,
    "printError" | "terminal" | "clock" | "onProgress"
  >,
  { isQuiet, mayDraw, limit, after }: ReportOptions,
): ProgressReport {
  const line = mayDraw && terminal !== undefined ? createLine(terminal) : undefined;
  const retryLines = startRetryLines();
  const started = performance.now();
  const { rows: before = 0, expectedRows: counted } = after ?? {};
  const state: ReportState = { started, limit, before, counted, waitEnd: 0, clock };
  const draw = () => line?.draw((width) => describe(state, width));
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Without a line that is redrawn, prints only what is important. */
  const show = (isImportant: boolean, isPrinted = true) => {
    if (isQuiet) return;
    if (line) return draw();
    if (!isImportant) return;
    clearTimeout(timer);
    if (isPrinted) printError(describe(state, Infinity, retryLine));
  };
  const end = () => {
    clearTimeout(timer);
    if (!line?.isDrawn) return;
    if (performance.now() - started < SHORT_DOWNLOAD) return line.clear();
    draw();
    line.end();
  };

  if (!isQuiet) {
    if (after !== undefined) printError(`Continuing after ${withSeparators(after.rows)} rows`);
    draw();
    // Prints "Requesting the first page…" only if the first page takes longer than a second.
    timer = line
      ? setInterval(draw, DRAW_INTERVAL)
      : setTimeout(() => printError(describe(state)), SHORT_DOWNLOAD);
  }
  return {
    end,
    wait(reason, time) {
      if (isQuiet) return;
      state.waitEnd = performance.now() + time;
      state.progress = undefined;
      if (line?.isDrawn) line.clear();
      printError(reason);
    },
    update(next) {
      onProgress?.(next);
      const isNewPage = next.pages !== (state.progress?.pages ?? 0);
      const hasAnswer = isNewPage || next.rows > (state.progress?.rows ?? before);
      if (hasAnswer && !isQuiet && retryLines.onAnswer()) printError(ANSWERS_AGAIN);
      state.progress = next;
      state.retrying = undefined;
      state.counted = next.expectedRows ?? state.counted;
      // On a terminal that shows the rows, lines of progress would appear between them.
      show(isNewPage || next.splitting !== undefined, terminal === undefined);
    },
    retry(fault, wait, service) {
      state.retrying = { fault, service, at: performance.now() + wait };
      show(!line && retryLines.isDue(wait, service));
    },
    finish(bytes, file, groups) {
      const { done, expected } = countRows(state);
      // The download is complete, so the last line shows 100%.
      if (expected !== Infinity) state.counted = done;
      end();
      if (isQuiet) return;
      const { otherAddress } = state.progress ?? {};
      if (otherAddress) {
        printError(`Links to next pages have the address ${otherAddress}, which is not used`);
      }
      const seconds = duration((performance.now() - started) / 1000);
      if (bytes !== undefined) {
        const groupsText = groups === undefined ? "" : `${countText(groups, "group")} of `;
        printError(`${file}: ${groupsText}${countText(done)}, ${sizeText(bytes)}, ${seconds}`);
      } else if (done > 0 && done < expected && expected !== Infinity && !terminal) {
        // The line of the last page shows an expected number that is too large.
        printError(`Complete: ${countText(done)}`);
      }
    },
  };
}

/** Times are on the clock of `performance.now()`. */
interface ReportState {
  readonly started: number;
  readonly limit: number;
  /** Number of rows of an earlier run. */
  readonly before: number;
  /** Number of rows that the service counted, if it did. */
  counted: number | undefined;
  progress?: Progress | undefined;
  retrying?: Retry & { at: number } | undefined;
  waitEnd: number;
  /** Its time is in ms since 1970. */
  readonly clock: Context["clock"];
}

/** Returns numbers of rows of this run and an earlier one. */
function countRows(
  { progress, before, counted, limit }: ReportState,
): { done: number; expected: number } {
  return { done: progress?.rows ?? before, expected: Math.min(counted ?? Infinity, limit) };
}

/** `width` is in characters. */
function describe(state: ReportState, width = Infinity, describeRetry = retryText): string {
  const { started, before, counted, progress, retrying, waitEnd, clock } = state;
  const now = performance.now();
  if (waitEnd > now) return `Waiting ${duration((waitEnd - now) / 1000)}`;
  const { pages = 0, splitting } = progress ?? {};
  const { done, expected } = countRows(state);
  // Without a count and without rows, the limit says nothing about the number of rows.
  const isUnknown = expected === Infinity || done === 0 && counted === undefined;
  const rowsText = isUnknown
    ? countText(done)
    : `${withSeparators(done)} of ${countText(expected)} (${percent(done, expected)})`;
  const wait = retrying ? retrying.at - now : 0;
  if (retrying && wait > 0) {
    return describeRetry(retrying, wait, clock.now(), done > 0 ? rowsText : "", width);
  }
  if (splitting) return `Splitting the query by ${splitting}, ${rowsText}`;
  const seconds = (now - started) / 1000;
  if (pages === 0) {
    const elapsed = seconds < 2 ? "" : ` ${duration(Math.floor(seconds))}`;
    return `Requesting the ${before > 0 ? "next" : "first"} page…${elapsed}`;
  }
  const rows = done - before;
  const rate = rows / Math.max(seconds, 0.001);
  const left = Math.max(0, expected - done) / rate;
  const rateText = rows > 0 ? [`${withSeparators(Math.round(rate))} rows/s`] : [];
  const leftText = left > 0 && left < Infinity ? [`${duration(left)} left`] : [];
  // In a narrow terminal, the remaining time is more important than the rate and the numbers of rows.
  const share = isUnknown ? rowsText : percent(done, expected);
  const lines = [[rowsText, ...rateText, ...leftText], [rowsText, ...leftText]]
    .map((parts) => parts.join(", "));
  return lines.find((line) => line.length <= width) ?? [share, ...leftText].join(", ");
}

/** A line of a terminal that is redrawn. */
export interface TerminalLine {
  readonly isDrawn: boolean;
  /** `describe` returns the text, for a width in characters. */
  draw(describe: (width: number) => string): void;
  clear(): void;
  end(): void;
}

export function createLine(
  { columns, write }: NonNullable<Context["terminal"]>,
): TerminalLine {
  let drawnLength = 0;
  /** Pads with spaces, because a dumb terminal has no escape sequences. */
  const draw = (describe: (width: number) => string) => {
    // One column is left empty, because a full line wraps.
    const width = Math.max(1, columns() - 1);
    const line = Array.from(describe(width)).slice(0, width).join("");
    write(`\r${line.padEnd(Math.min(drawnLength, width))}`);
    drawnLength = line.length;
  };
  return {
    get isDrawn() {
      return drawnLength > 0;
    },
    draw,
    clear() {
      draw(() => "");
      write("\r");
    },
    end: () => write("\n"),
  };
}

function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function countText(count: number, noun = "row"): string {
  return `${withSeparators(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** In Node, the first `toLocaleString()` takes about 10 ms. */
export function withSeparators(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Rounds down. Not over 100%: the count may be too low. */
function percent(done: number, expected: number): string {
  return `${expected === 0 ? 100 : Math.min(100, Math.floor(100 * done / expected))}%`;
}

/** Rounds up. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  if (hours > 0) return `${hours}:${two(minutes)}:${two(whole % 60)} h`;
  return whole >= 60 ? `${minutes}:${two(whole % 60)} min` : `${whole} s`;
}

type Notes = Progress["notes"] & Pick<Progress, "missingRows" | "surplusRows">;

const ACCEPTED = "accepted by --allow-incomplete, or because large counts are estimates";

/** Texts by count of notes, after the number of rows, or of cells. */
const NOTE_TEXTS: Readonly<Record<Exclude<keyof Notes, "forms" | "fractions">, string>> = {
  invalidValues: "with a value that does not fit its column, now null (--allow-invalid)",
  cutTexts: "with a text of more than 32,767 characters, now cut (--allow-invalid)",
  withoutGeometry: "without a geometry: the position is absent, impossible, or not in WGS84",
  nad83: "with a position in NAD83, which is written as WGS84 (about 2 m off)",
  missingRows: `missing: DataStream counted more (${ACCEPTED})`,
  surplusRows: `more than DataStream counted (${ACCEPTED})`,
  outsideDays: "left out: outside of --from and --to",
  withoutDate: "left out: without a start date",
  unreadableDate: "left out: with a start date that cannot be read",
  qualityControl: "left out: quality control",
  contradictory: "with a value and a detection condition (censoring: unknown)",
  textInNumber: "with text instead of a number, which is not used",
  unknownCondition: "with an unknown detection condition (censoring: unknown)",
  zoneAbbreviation: "with an abbreviation instead of an offset from UTC (datetime_utc: empty)",
  otherUnit: "not converted by --unit: their unit has another dimension or is unknown",
  nulCells: "without the character NUL, which other programs cannot read",
};

export function noteLines(notes: Notes = {}): string[] {
  const counts = Object.entries(NOTE_TEXTS).flatMap(([name, text]) => {
    const count = notes[name as keyof typeof NOTE_TEXTS] ?? 0;
    const noun = name === "nulCells" ? "cell" : "row";
    return count > 0 ? [`${countText(count, noun)} ${text}`] : [];
  });
  const mixed = (["forms", "fractions"] as const).flatMap((name) =>
    Object.entries(notes[name] ?? {}).filter(([, values]) => values.length > 1).map((
      [characteristic, values],
    ) =>
      `The converted ${characteristic} has several ${name}, which are not comparable: ` +
      values.map((value) => value || "none").join(", ")
    )
  );
  return [...counts, ...mixed].map(oneLine);
}
