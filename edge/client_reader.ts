import type { Clock } from "../src/clock.ts";

/** Time (s) over which the rate of a client is measured. */
const RATE_WINDOW = 60;

/** Number of bytes that a client has read during one second in which bytes waited for it. */
interface ReadSecond {
  /** Number of the second: only seconds in which bytes waited for the client are counted. */
  number: number;
  bytes: number;
}

/**
 * The client that reads a download: measures its rate, and can disconnect it.
 *
 * Only time during which bytes wait for the client counts. Time during which the server waits for the service
 * does not.
 */
export class ClientReader {
  readonly #clock: Clock;
  /** Time (ms) at which the waiting chunk was passed to the runtime; `undefined` if no chunk waits. */
  #waitingSince: number | undefined;
  /** Bytes of the chunk that waits for the client. */
  #waitingBytes = 0;
  /** Total time (ms) that earlier chunks have waited for the client. */
  #waited = 0;
  /** The last seconds in which the client has read, oldest first. */
  #seconds: ReadSecond[] = [];
  #disconnectReason: Error | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Time (ms) that the current chunk has waited for the client; 0 if none waits. */
  get idleTime(): number {
    return this.#waitingSince === undefined ? 0 : this.#clock.now() - this.#waitingSince;
  }

  /**
   * Average number of bytes per second that the client has read in the last 60 seconds
   * in which bytes waited for it. It is `Infinity` until bytes have waited that long.
   */
  get bytesPerSecond(): number {
    const second = Math.floor((this.#waited + this.idleTime) / 1000);
    if (second < RATE_WINDOW) return Infinity;
    const recent = this.#seconds.filter(({ number }) => number >= second - RATE_WINDOW);
    return recent.reduce((sum, { bytes }) => sum + bytes, 0) / RATE_WINDOW;
  }

  /**
   * Error with which the download ends; `undefined` before {@linkcode disconnect} is called. A disconnected
   * reader counts as holding no permit and no memory.
   */
  get disconnectReason(): Error | undefined {
    return this.#disconnectReason;
  }

  /** Records that a chunk waits for the client. */
  startWaiting(bytes: number): void {
    this.#waitingSince = this.#clock.now();
    this.#waitingBytes = bytes;
  }

  /** Records that the client has read the chunk that waited for it. */
  stopWaiting(): void {
    this.#waited += this.idleTime;
    this.#waitingSince = undefined;
    const number = Math.floor(this.#waited / 1000);
    const last = this.#seconds.at(-1);
    if (last?.number === number) last.bytes += this.#waitingBytes;
    else this.#seconds.push({ number, bytes: this.#waitingBytes });
    this.#waitingBytes = 0;
    while (this.#seconds[0]!.number < number - RATE_WINDOW) this.#seconds.shift();
  }

  /**
   * Requests that the download ends with an error.
   *
   * The request of the download polls for this, because workerd does not allow another request to end it.
   */
  disconnect(reason: string): void {
    this.#disconnectReason ??= new Error(reason);
  }
}

/** Disconnects slow readers when other clients need their permits or memory. */
export class SlowReaders {
  /** Number of readers that were disconnected. */
  disconnected = 0;
  readonly #minRate: number;

  /** @param minRate Rate (bytes per second) below which a reader is slow; 0 if no reader is */
  constructor(minRate: number) {
    this.#minRate = minRate;
  }

  /** Whether a reader is slow. */
  isSlow(reader: ClientReader | undefined): boolean {
    return reader !== undefined && reader.bytesPerSecond < this.#minRate;
  }

  /**
   * Disconnects the slowest reader, if one is slow.
   *
   * @param readers Readers that hold a resource that another client needs; none of them is disconnected yet
   * @param need Resource that the other client needs, for the log
   * @returns Whether a reader was disconnected
   */
  disconnectOne(readers: readonly (ClientReader | undefined)[], need: "slot" | "memory"): boolean {
    let slowest: ClientReader | undefined;
    let lowest = this.#minRate;
    for (const reader of readers) {
      const rate = reader?.bytesPerSecond ?? Infinity;
      if (rate < lowest) [slowest, lowest] = [reader, rate];
    }
    slowest?.disconnect(
      `the client read ${Math.floor(lowest)} bytes per second for ${RATE_WINDOW} s, less than ` +
        `${this.#minRate}, and another client needed its ${need}`,
    );
    if (slowest !== undefined) this.disconnected++;
    return slowest !== undefined;
  }
}
