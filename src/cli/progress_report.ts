import type { Progress } from "../client/progress.ts";
import type { Io } from "./io.ts";
import type { Progressed } from "./part_state.ts";

/** How often a terminal's line is drawn anew, in milliseconds. */
const DRAW = 250;
/** What is done sooner needs no line. */
const SOON = 1_000;
/** So much of a fault is shown. */
const LONGEST_FAULT = 80;

/** Says on standard error how far a download has come: one line on a terminal, else a line a page. */
export class ProgressReport {
  readonly #io: Io;
  readonly #isQuiet: boolean;
  readonly #canDraw: boolean;
  /** The most rows that are wanted. */
  readonly #limit: number;
  /** Rows of an earlier run. */
  readonly #before: number;
  readonly #started = performance.now();
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #expectedRows: number | undefined;
  #progress: Progress | undefined;
  #retryAt = 0;
  #isDrawn = false;

  /**
   * @param shows Whether to say anything, and whether a line may be drawn over: not where rows stand in it
   * @param from How far an earlier run had come
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
    this.#expectedRows = from?.expectedRows;
    if (from !== undefined && !isQuiet) io.error(`Going on after ${format(from.rows)} rows`);
    if (!isQuiet && this.#canDraw) this.#timer = setInterval(() => this.#draw(), DRAW);
  }

  /** How many rows are expected in all, where it is known. */
  get expectedRows(): number | undefined {
    return this.#expectedRows;
  }

  /** Takes note of how far the query has come. */
  update(progress: Progress): void {
    const pages = this.#progress?.pages ?? 0;
    this.#progress = progress;
    const { expectedRows = this.#expectedRows } = progress;
    this.#expectedRows = expectedRows && Math.min(expectedRows, this.#limit);
    const { retrying } = progress;
    if (retrying) this.#retryAt = performance.now() + retrying.wait;
    if (this.#isQuiet) return;
    if (this.#io.terminal) this.#draw();
    else if (retrying || progress.pages > pages) this.#io.error(this.#text());
  }

  /**
   * Ends the line.
   *
   * @param bytes How many bytes the file has, where there is one and it is whole
   * @param file Its name
   */
  end(bytes?: number, file?: string): void {
    clearInterval(this.#timer);
    if (this.#isDrawn) {
      this.#draw();
      this.#io.terminal?.write("\n");
    }
    if (this.#isQuiet || bytes === undefined) return;
    const rows = this.#before + (this.#progress?.rows ?? 0);
    const seconds = duration((performance.now() - this.#started) / 1000);
    this.#io.error(`${file}: ${counted(rows)}, ${(bytes / 1e6).toFixed(1)} MB, ${seconds}`);
  }

  #draw(): void {
    const { terminal } = this.#io;
    if (terminal === undefined || !this.#canDraw || this.#progress === undefined) return;
    if (!this.#isDrawn && performance.now() - this.#started < SOON) return;
    // One character less: a full line would go on in the next one.
    const text = Array.from(this.#text()).slice(0, Math.max(1, terminal.columns() - 1)).join("");
    terminal.write(`\r\x1b[K${text}`);
    this.#isDrawn = true;
  }

  #text(): string {
    const { rows = 0, waits = 0, retrying } = this.#progress ?? {};
    const done = this.#before + rows;
    const expected = this.#expectedRows;
    const seconds = (performance.now() - this.#started) / 1000;
    const rate = rows / Math.max(seconds, 0.001);
    const left = expected === undefined ? undefined : Math.max(0, expected - done) / rate;
    const parts = [
      expected === undefined
        ? counted(done)
        : `${format(done)} of ${counted(expected)} (${percent(done, expected)})`,
    ];
    if (retrying && performance.now() < this.#retryAt) {
      // First, for the line may be cut; and nobody knows what is left.
      const wait = Math.max(0, this.#retryAt - performance.now()) / 1000;
      const fault = retrying.fault.detail.replace(/https?:\/\/[^\s/]+(?:\/[^\s/]+)*\/(\w+)/, "$1");
      parts.unshift(`Trying again in ${duration(wait)} (${fault.slice(0, LONGEST_FAULT)})`);
      return parts.join(", ");
    }
    if (rows > 0) parts.push(`${format(Math.round(rate))} rows/s`);
    if (left !== undefined && left > 0 && rows > 0) parts.push(`${duration(left)} left`);
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

/** Never all of it before the end: counts are estimates. */
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
