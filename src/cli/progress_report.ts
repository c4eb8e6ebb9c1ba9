import type { Progress } from "../client/progress.ts";
import type { Io } from "./io.ts";
import type { Progressed } from "./part_file.ts";

/** How often a terminal's line is drawn anew, in milliseconds. */
const DRAW = 250;

/** Says on standard error how far a download has come: one line on a terminal, else a line a page. */
export class ProgressReport {
  readonly #io: Io;
  readonly #isQuiet: boolean;
  /** Rows of an earlier run. */
  readonly #before: number;
  readonly #started = performance.now();
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #expectedRows: number | undefined;
  #progress: Progress | undefined;
  #retryAt = 0;
  #isDrawn = false;

  /**
   * @param isQuiet Whether to say nothing
   * @param from How far an earlier run had come
   */
  constructor(io: Io, isQuiet: boolean, from: Progressed | undefined) {
    this.#io = io;
    this.#isQuiet = isQuiet;
    this.#before = from?.rows ?? 0;
    this.#expectedRows = from?.expectedRows;
    if (from !== undefined && !isQuiet) io.error(`Going on after ${format(from.rows)} rows`);
    if (!isQuiet && io.terminal) this.#timer = setInterval(() => this.#draw(), DRAW);
  }

  /** How many rows are expected in all, where it is known. */
  get expectedRows(): number | undefined {
    return this.#expectedRows;
  }

  /** Takes note of how far the query has come. */
  update(progress: Progress): void {
    const pages = this.#progress?.pages ?? 0;
    this.#progress = progress;
    this.#expectedRows = progress.expectedRows ?? this.#expectedRows;
    const { retrying } = progress;
    if (retrying) this.#retryAt = performance.now() + retrying.wait;
    if (this.#isQuiet) return;
    if (this.#io.terminal) this.#draw();
    else if (retrying || progress.pages > pages) this.#io.error(this.#text());
  }

  /** Ends the line. */
  end(): void {
    clearInterval(this.#timer);
    if (!this.#isDrawn) return;
    this.#draw();
    this.#io.terminal?.write("\n");
  }

  #draw(): void {
    const { terminal } = this.#io;
    if (terminal === undefined || this.#progress === undefined) return;
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
        ? `${format(done)} rows`
        : `${format(done)} of ${format(expected)} rows (${percent(done, expected)})`,
      ...(rows > 0 ? [`${format(Math.round(rate))} rows/s`] : []),
      ...(left !== undefined && left > 0 && rows > 0 ? [`${duration(left)} left`] : []),
      ...(waits >= 1000 ? [`${duration(waits / 1000)} waited`] : []),
    ];
    if (retrying) {
      const wait = Math.max(0, this.#retryAt - performance.now()) / 1000;
      parts.push(`trying again in ${duration(wait)}: ${retrying.fault.detail}`);
    }
    return parts.join(", ");
  }
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
