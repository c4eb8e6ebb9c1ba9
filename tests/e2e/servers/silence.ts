import { json } from "./upstream.ts";

/** Where a service falls silent: it has not answered, or it has sent half of a page. */
export const SILENCES = ["before its headers", "within a page"] as const;

/** A silence of the service in one answer, until the test ends it. */
export class Silence {
  /** Whether the request has been given up. */
  isAborted = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(readonly place: typeof SILENCES[number]) {}

  /** Sends what is left. */
  end(): void {
    this.#ended.resolve();
  }

  /** Answers with a page as far as the silence lets it. */
  async answer({ signal }: Request, page: string): Promise<Response> {
    const abort = () => {
      this.isAborted = true;
      this.end();
    };
    signal.addEventListener("abort", abort, { once: true });
    if (this.place === "before its headers") {
      await this.#ended.promise;
      return json(page);
    }
    const bytes = new TextEncoder().encode(page);
    const half = Math.floor(bytes.length / 2);
    const pieces = [bytes.subarray(0, half), bytes.subarray(half)];
    return json(
      new ReadableStream({
        pull: async (controller) => {
          if (pieces.length === 1) await this.#ended.promise;
          const piece = pieces.shift();
          if (this.isAborted) return;
          if (piece) controller.enqueue(piece);
          else controller.close();
        },
        cancel: abort,
      }, { highWaterMark: 0 }),
    );
  }
}
