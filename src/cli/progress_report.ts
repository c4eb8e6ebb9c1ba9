import type { Progress } from "../client/progress.ts";
import type { Io } from "./io.ts";
import type { Progressed } from "./part_state.ts";

/** Interval (ms) at which the line on a terminal is redrawn. */
const DRAW = 250;
/** A download that ends within this time (ms) leaves no line of progress on a terminal. */
const SOON = 1_000;
/** Maximum number of characters to show of a fault. */
const LONGEST_FAULT = 80;

/** Shows the progress of a download on standard error: one line on a terminal, else one per page. */
export class ProgressReport {
  readonly #io: Io;
  readonly #isQuiet: boolean;
  readonly #canDraw: boolean;
  /** Maximum number of rows to download. */
  readonly #limit: number;
  /** Rows of an earlier run. */
  readonly #before: number;
  readonly #started = performance.now();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  /** Rows that an earlier run accepted as missing. */
  readonly #missingBefore: number;
  #expectedRows: number | undefined;
  #progress: Progress | undefined;
  #retryAt = 0;
  /** Length of the line on the terminal. */
  #drawn = 0;

  /**
   * Starts the report, before the first request.
   *
   * @param shows Whether to show anything; whether a line can be redrawn, which rows on the same
   * terminal would break; and the limit of rows
   * @param from The progress of an earlier run
   */
  constructor(
    io: Io,
    shows: { isQuiet: boolean; canDraw: boolean; limit: number },
    from: Progressed | undefined,
  ) {
    const { isQuiet, canDraw, limit } = shows;
    this.#io = io;
    this.#isQuiet = isQuiet;
    this.#canDraw = canDraw && io.terminal !== undefined;
    this.#limit = limit;
    this.#before = from?.rows ?? 0;
    this.#missingBefore = from?.missingRows ?? 0;
    this.#expectedRows = from?.expectedRows;
    if (isQuiet) return;
    if (from !== undefined) io.error(`Going on after ${format(from.rows)} rows`);
    if (this.#canDraw) {
      this.#draw();
      this.#timer = setInterval(() => this.#draw(), DRAW);
    } else {
      this.#timer = setTimeout(() => io.error(this.#text()), SOON);
    }
  }

  /** Number of rows that the service counted, if it did. */
  get expectedRows(): number | undefined {
    return this.#expectedRows;
  }

  /** Number of rows that the service counted and did not deliver, and that are accepted as missing. */
  get missingRows(): number {
    return this.#missingBefore + (this.#progress?.missingRows ?? 0);
  }

  /** Shows the progress of the query. */
  update(progress: Progress): void {
    const pages = this.#progress?.pages ?? 0;
    this.#progress = progress;
    const { expectedRows = this.#expectedRows } = progress;
    this.#expectedRows = expectedRows && Math.min(expectedRows, this.#limit);
    const { retrying } = progress;
    if (retrying) this.#retryAt = performance.now() + retrying.wait;
    if (this.#isQuiet) return;
    if (this.#canDraw) return this.#draw();
    if (!retrying && progress.pages === pages) return;
    clearTimeout(this.#timer);
    if (this.#io.terminal === undefined) this.#io.error(this.#text());
  }

  /** Ends the line of a download that failed. */
  end(): void {
    this.#end(this.#text());
  }

  /**
   * Ends the line of a complete download.
   *
   * @param bytes Size of the file; undefined for standard output
   * @param file Its name
   */
  finish(bytes?: number, file?: string): void {
    const [rows, expected] = [this.#rows, this.#expected];
    if (expected !== Infinity) this.#expectedRows = rows;
    this.#end(this.#text());
    if (this.missingRows > 0) {
      this.#io.error(
        `${counted(this.missingRows)} fewer than the service counted (--allow-incomplete)`,
      );
    }
    if (this.#isQuiet) return;
    const seconds = duration((performance.now() - this.#started) / 1000);
    if (bytes !== undefined) {
      this.#io.error(`${file}: ${counted(rows)}, ${(bytes / 1e6).toFixed(1)} MB, ${seconds}`);
    } else if (rows > 0 && rows < expected && expected !== Infinity && !this.#io.terminal) {
      // The line of the last page named a larger number of rows.
      this.#io.error(`Complete: ${counted(rows)}`);
    }
  }

  #end(text: string): void {
    clearTimeout(this.#timer);
    if (this.#drawn === 0) return;
    const isSoon = performance.now() - this.#started < SOON;
    this.#draw(isSoon ? "" : text);
    this.#io.terminal?.write(isSoon ? "\r" : "\n");
  }

  /** Redraws the line. Pads instead of erasing: a dumb terminal knows no escape sequences. */
  #draw(text: string = this.#text()): void {
    const { terminal } = this.#io;
    if (terminal === undefined) return;
    // One character less: a full line would continue on the next.
    const columns = Math.max(1, terminal.columns() - 1);
    const line = Array.from(text).slice(0, columns).join("");
    terminal.write(`\r${line.padEnd(Math.min(this.#drawn, columns))}`);
    this.#drawn = line.length;
  }

  /** Rows of this run and an earlier one. */
  get #rows(): number {
    return this.#before + (this.#progress?.rows ?? 0);
  }

  /** Number of rows that the download comes to as far as is known: counted, or the limit. */
  get #expected(): number {
    return Math.min(this.#expectedRows ?? Infinity, this.#limit);
  }

  #text(): string {
    const { rows = 0, pages = 0, waits = 0, retrying } = this.#progress ?? {};
    const [done, expected] = [this.#rows, this.#expected];
    const seconds = (performance.now() - this.#started) / 1000;
    const rowsText = expected === Infinity
      ? counted(done)
      : `${format(done)} of ${counted(expected)} (${percent(done, expected)})`;
    if (retrying && performance.now() < this.#retryAt) {
      // First, because the line may be cut.
      const wait = Math.max(0, this.#retryAt - performance.now()) / 1000;
      const fault = retrying.fault.detail.replace(/https?:\/\/[^\s/]+(?:\/[^\s/]+)*\/(\w+)/, "$1");
      return `Trying again in ${duration(wait)} (${fault.slice(0, LONGEST_FAULT)}), ${rowsText}`;
    }
    if (pages === 0) {
      const page = this.#before > 0 ? "next" : "first";
      const elapsed = seconds < 2 ? "" : ` ${duration(Math.floor(seconds))}`;
      return `Requesting the ${page} page…${elapsed}`;
    }
    const rate = rows / Math.max(seconds, 0.001);
    const left = Math.max(0, expected - done) / rate;
    const parts = [rowsText];
    if (rows > 0) parts.push(`${format(Math.round(rate))} rows/s`);
    if (left > 0 && left < Infinity) parts.push(`${duration(left)} left`);
    if (waits >= 1000) parts.push(`${duration(waits / 1000)} waited`);
    return parts.join(", ");
  }
}

function counted(rows: number): string {
  return `${format(rows)} ${rows === 1 ? "row" : "rows"}`;
}

function format(number: number): string {
  return number.toLocaleString("en-CA");
}

/** Rounds down, and to 100% at most, because counts are estimates. */
function percent(done: number, expected: number): string {
  return `${expected === 0 ? 100 : Math.min(100, Math.floor(100 * done / expected))}%`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  if (hours > 0) return `${hours}:${two(minutes)}:${two(whole % 60)} h`;
  return whole >= 60 ? `${minutes}:${two(whole % 60)} min` : `${whole} s`;
}
