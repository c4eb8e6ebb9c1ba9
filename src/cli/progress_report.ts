import type { Cursor } from "../client/batches.ts";
import type { Progress } from "../client/progress.ts";
import type { Context } from "./context.ts";

/** Interval (ms) at which the line on a terminal is redrawn. */
const DRAW_INTERVAL = 250;
/** Maximum duration (ms) of a download that leaves no line of progress on a terminal. */
const SHORT_DOWNLOAD = 1_000;
/** Maximum number of characters of an error in a line of progress. */
const MAX_ERROR_LENGTH = 80;

/** Options for a {@linkcode ProgressReport}. */
export interface ReportOptions {
  /** Whether to print nothing except the number of missing rows. */
  isQuiet: boolean;
  /**
   * Whether a line may be redrawn if standard error is a terminal. False if the same terminal shows
   * the rows.
   */
  mayDraw: boolean;
  /** Maximum number of rows of the download; `Infinity` without a limit. */
  limit: number;
  /** Cursor of the last page of an earlier run; `undefined` without one. */
  after: Pick<Cursor, "rows" | "expectedRows" | "missingRows"> | undefined;
}

/**
 * Shows the progress of a download on standard error: on a terminal, one line that is redrawn; else
 * one line per page.
 */
export class ProgressReport {
  readonly #context: Pick<Context, "printError" | "terminal">;
  readonly #isQuiet: boolean;
  /** Whether there is a terminal whose line may be redrawn. */
  readonly #canDraw: boolean;
  readonly #limit: number;
  /** Number of rows of an earlier run. */
  readonly #earlierRows: number;
  /** Number of rows that an earlier run accepted as missing. */
  readonly #earlierMissingRows: number;
  readonly #started = performance.now();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of rows that the service counted, at most the limit; `undefined` if it did not count. */
  #expectedRows: number | undefined;
  #progress: Progress | undefined;
  /** Time of the next retry on the clock of `performance.now()`. */
  #retryAt = 0;
  /** Number of characters of the line on the terminal; 0 if none was drawn. */
  #drawnLength = 0;

  /** Starts the report, before the first request. */
  constructor(context: Pick<Context, "printError" | "terminal">, options: ReportOptions) {
    const { isQuiet, mayDraw, limit, after } = options;
    this.#context = context;
    this.#isQuiet = isQuiet;
    this.#canDraw = mayDraw && context.terminal !== undefined;
    this.#limit = limit;
    this.#earlierRows = after?.rows ?? 0;
    this.#earlierMissingRows = after?.missingRows ?? 0;
    this.#expectedRows = after?.expectedRows;
    if (isQuiet) return;
    if (after !== undefined) {
      context.printError(`Continuing after ${formatNumber(after.rows)} rows`);
    }
    if (this.#canDraw) {
      this.#draw();
      this.#timer = setInterval(() => this.#draw(), DRAW_INTERVAL);
    } else {
      // Prints "Requesting the first page…" only if the first page takes longer than a second.
      this.#timer = setTimeout(() => context.printError(this.#text()), SHORT_DOWNLOAD);
    }
  }

  /** Shows the progress of the query after a page or before a retry. */
  update(progress: Progress): void {
    const pages = this.#progress?.pages ?? 0;
    this.#progress = progress;
    const { expectedRows = this.#expectedRows } = progress;
    this.#expectedRows = expectedRows && Math.min(expectedRows, this.#limit);
    const { retrying, splitting } = progress;
    if (retrying) this.#retryAt = performance.now() + retrying.wait;
    if (this.#isQuiet) return;
    if (this.#canDraw) return this.#draw();
    if (!retrying && !splitting && progress.pages === pages) return;
    clearTimeout(this.#timer);
    // On a terminal that shows the rows, lines of progress would appear between them.
    if (this.#context.terminal === undefined) this.#context.printError(this.#text());
  }

  /** Ends the line of a download that failed. */
  end(): void {
    this.#endLine(this.#text());
  }

  /**
   * Ends the line of a complete download, and prints a summary.
   *
   * @param bytes Size of the file in bytes; `undefined` for standard output
   * @param file Name of the file; `undefined` for standard output
   */
  finish(bytes?: number, file?: string): void {
    const [rows, expected] = [this.#rows, this.#expected];
    // The download is complete, so the last line shows 100%.
    if (expected !== Infinity) this.#expectedRows = rows;
    this.#endLine(this.#text());
    if (this.#missingRows > 0) {
      const areMissing = this.#missingRows === 1 ? "is missing" : "are missing";
      this.#context.printError(
        `${countText(this.#missingRows)} ${areMissing}: ` +
          "DataStream counted more (accepted by --allow-incomplete)",
      );
    }
    if (this.#isQuiet) return;
    const seconds = duration((performance.now() - this.#started) / 1000);
    if (bytes !== undefined) {
      this.#context.printError(
        `${file}: ${countText(rows)}, ${(bytes / 1e6).toFixed(1)} MB, ${seconds}`,
      );
    } else if (rows > 0 && rows < expected && expected !== Infinity && !this.#context.terminal) {
      // The line of the last page shows an expected number that is too large.
      this.#context.printError(`Complete: ${countText(rows)}`);
    }
  }

  #endLine(text: string): void {
    clearTimeout(this.#timer);
    if (this.#drawnLength === 0) return;
    const isShort = performance.now() - this.#started < SHORT_DOWNLOAD;
    this.#draw(isShort ? "" : text);
    this.#context.terminal?.write(isShort ? "\r" : "\n");
  }

  /** Redraws the line. Pads with spaces, because a dumb terminal has no escape sequences. */
  #draw(given?: string): void {
    const { terminal } = this.#context;
    if (terminal === undefined) return;
    // One column is left empty, because a full line wraps.
    const columns = Math.max(1, terminal.columns() - 1);
    const text = given ?? this.#text(columns);
    const line = Array.from(text).slice(0, columns).join("");
    terminal.write(`\r${line.padEnd(Math.min(this.#drawnLength, columns))}`);
    this.#drawnLength = line.length;
  }

  /** Number of rows of this run and an earlier one. */
  get #rows(): number {
    return this.#earlierRows + (this.#progress?.rows ?? 0);
  }

  /** Number of missing rows that this run and an earlier one accepted. */
  get #missingRows(): number {
    return this.#earlierMissingRows + (this.#progress?.missingRows ?? 0);
  }

  /** Expected number of rows: the smaller of the count and the limit; `Infinity` without both. */
  get #expected(): number {
    return Math.min(this.#expectedRows ?? Infinity, this.#limit);
  }

  /**
   * Returns the line of progress.
   *
   * @param width Maximum number of characters, if the line can be shortened to it
   */
  #text(width = Infinity): string {
    const { rows = 0, pages = 0, retrying, splitting } = this.#progress ?? {};
    const [done, expected] = [this.#rows, this.#expected];
    const seconds = (performance.now() - this.#started) / 1000;
    // Without a count and without rows, the limit says nothing about the number of rows.
    const isUnknown = expected === Infinity || done === 0 && this.#expectedRows === undefined;
    const rowsText = isUnknown
      ? countText(done)
      : `${formatNumber(done)} of ${countText(expected)} (${percent(done, expected)})`;
    if (retrying && performance.now() < this.#retryAt) {
      // The retry is at the start of the line, because a narrow terminal truncates the end.
      const wait = Math.max(0, this.#retryAt - performance.now()) / 1000;
      const { address, detail } = retrying.fault;
      // Of the address, only the resource.
      const fault = `${address ? `${address.split("/").at(-1)} ` : ""}${detail}`;
      const isLong = fault.length > MAX_ERROR_LENGTH;
      const shown = isLong ? `${fault.slice(0, MAX_ERROR_LENGTH)}…` : fault;
      return `Retrying in ${duration(wait)} (${shown}), ${rowsText}`;
    }
    if (splitting) return `Splitting the query by ${splitting}, ${rowsText}`;
    if (pages === 0) {
      const page = this.#earlierRows > 0 ? "next" : "first";
      const elapsed = seconds < 2 ? "" : ` ${duration(Math.floor(seconds))}`;
      return `Requesting the ${page} page…${elapsed}`;
    }
    const rate = rows / Math.max(seconds, 0.001);
    const left = Math.max(0, expected - done) / rate;
    const rateText = rows > 0 ? [`${formatNumber(Math.round(rate))} rows/s`] : [];
    const leftText = left > 0 && left < Infinity ? [`${duration(left)} left`] : [];
    // In a narrow terminal, the remaining time is more important than the rate and the numbers of rows.
    const share = isUnknown ? rowsText : percent(done, expected);
    const lines = [[rowsText, ...rateText, ...leftText], [rowsText, ...leftText]]
      .map((parts) => parts.join(", "));
    return lines.find((line) => line.length <= width) ?? [share, ...leftText].join(", ");
  }
}

/** Formats a number of rows. */
function countText(rows: number): string {
  return `${formatNumber(rows)} ${rows === 1 ? "row" : "rows"}`;
}

/** Formats a whole number. `toLocaleString()` is not used: in Node, its first call takes about 10 ms. */
function formatNumber(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Formats a percentage. Rounds down. Not over 100%: the count may be too low. */
function percent(done: number, expected: number): string {
  return `${expected === 0 ? 100 : Math.min(100, Math.floor(100 * done / expected))}%`;
}

/** Formats a duration as seconds, minutes or hours. Rounds up. */
function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  if (hours > 0) return `${hours}:${two(minutes)}:${two(whole % 60)} h`;
  return whole >= 60 ? `${minutes}:${two(whole % 60)} min` : `${whole} s`;
}
