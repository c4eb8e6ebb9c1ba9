// Streams of results can be iterated in each runtime, and end their source when a loop ends.
import "../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { toIterableStream } from "../../../src/client/iterable_stream.ts";
import { pagedClient, range } from "./paged_service.ts";

const names = ["values", Symbol.asyncIterator] as const;

/** Runs a function in a runtime whose streams have no iterator, as those of Safari 18. */
async function withoutIterator(fn: () => Promise<void>): Promise<void> {
  const prototype = ReadableStream.prototype;
  const own = names.map((name) => Object.getOwnPropertyDescriptor(prototype, name)!);
  for (const name of names) Reflect.deleteProperty(prototype, name);
  try {
    await fn();
  } finally {
    names.forEach((name, index) => Object.defineProperty(prototype, name, own[index]!));
  }
}

/** Creates a stream of the numbers 1 to 3. `reasons` receives the reason of its cancellation. */
function countToThree(reasons: unknown[] = []): ReadableStream<number> {
  let count = 0;
  return new ReadableStream({
    pull(controller) {
      if (count === 3) controller.close();
      else controller.enqueue(++count);
    },
    cancel: (reason) => void reasons.push(reason),
  }, { highWaterMark: 0 });
}

async function take<T>(chunks: AsyncIterable<T>, count = Infinity): Promise<T[]> {
  const taken: T[] = [];
  for await (const chunk of chunks) {
    taken.push(chunk);
    if (taken.length === count) break;
  }
  return taken;
}

Deno.test("toIterableStream() iterates over the stream and cancels it when it lacks the iterator", () =>
  withoutIterator(async () => {
    assert(!(Symbol.asyncIterator in countToThree()));
    assertEquals(await take(toIterableStream(countToThree())), [1, 2, 3]);

    const reasons: unknown[] = [];
    const left = toIterableStream(countToThree(reasons));
    assertEquals(await take(left, 1), [1]);
    assertEquals(reasons, [undefined]);
  }));

Deno.test("tee() returns iterable streams when the runtime lacks the iterator", () =>
  withoutIterator(async () => {
    const [first, second] = toIterableStream(countToThree()).tee();
    assertEquals(await Promise.all([take(first), take(second)]), [[1, 2, 3], [1, 2, 3]]);
  }));

Deno.test("each stream of a query is iterable when the runtime lacks the iterator", () =>
  withoutIterator(async () => {
    const { client } = pagedClient({ ids: range(1, 20) });
    const query = client.locations({ select: ["Id"], top: 10 });
    assertEquals((await take(query.csv())).length, 2);
    assertEquals((await take(query.rows())).map(({ Id }) => Id), range(1, 20));
    assertEquals((await take(query.pages())).length, 2);
  }));
