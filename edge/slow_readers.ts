import { type ClientReader, RATE_WINDOW } from "./client_reader.ts";

/** Disconnects the readers of downloads that are slow, when other clients need what they hold. */
export class SlowReaders {
  /** Number of readers that were disconnected. */
  disconnected = 0;
  readonly #minRate: number;

  /** @param minRate Rate (bytes per second) below which a reader is slow; 0 if none is */
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
   * @param readers Readers that hold what another client needs; none of them is disconnected yet
   * @param need What the other client needs, for the log
   * @returns Whether a reader was disconnected
   */
  disconnectOne(readers: readonly (ClientReader | undefined)[], need: "place" | "memory"): boolean {
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
