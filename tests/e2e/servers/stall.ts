import {
  jsonResponse,
  pageFor,
  type ResultShape,
  rowsOf,
  serveUpstream,
  type Upstream,
} from "./upstream.ts";

/** Point at which a response stalls; "within a page" is after half of the body. */
type StallPoint = "before the headers" | "within a page";

/** Stalls one response until the test ends the stall or the client aborts. */
export class Stall {
  /** Whether the client has aborted the request. */
  isAborted = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(readonly point: StallPoint) {}

  /** Ends the stall, so that the rest of the response is sent. */
  end(): void {
    this.#ended.resolve();
  }

  async respond({ signal }: Request, page: string): Promise<Response> {
    const abort = () => {
      this.isAborted = true;
      this.end();
    };
    signal.addEventListener("abort", abort, { once: true });
    if (this.point === "before the headers") {
      await this.#ended.promise;
      return jsonResponse(page);
    }
    const bytes = new TextEncoder().encode(page);
    const half = Math.floor(bytes.length / 2);
    const chunks = [bytes.subarray(0, half), bytes.subarray(half)];
    return jsonResponse(
      new ReadableStream({
        pull: async (controller) => {
          if (chunks.length === 1) await this.#ended.promise;
          const chunk = chunks.shift();
          if (this.isAborted) return;
          if (chunk) controller.enqueue(chunk);
          else controller.close();
        },
        cancel: abort,
      }, { highWaterMark: 0 }),
    );
  }
}

/** Serves the pages of a result, and stalls the response to one request for a page. */
export function stallAt(stalledNumber: number, stall: Stall, shape: ResultShape): Upstream {
  return serveUpstream((request, number) => {
    const page = pageFor(request, shape);
    return number === stalledNumber ? stall.respond(request, page) : jsonResponse(page);
  }, rowsOf(shape));
}
