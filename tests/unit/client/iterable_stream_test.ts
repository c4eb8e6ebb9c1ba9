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

Deno.test("streams of a query, and those of tee(), are iterable when the runtime lacks the iterator", () =>
  withoutIterator(async () => {
    assert(!(Symbol.asyncIterator in new ReadableStream()));
    const { client } = pagedClient({ ids: range(1, 20) });
    const query = client.locations({ select: ["Id"], top: 10 });
    for (const rows of [query.rows(), ...query.rows().tee()]) {
      assertEquals((await Array.fromAsync(rows)).map(({ Id }) => Id), range(1, 20));
    }
    let isCancelled = false;
    const left = toIterableStream(
      new ReadableStream({
        pull: (controller) => controller.enqueue(1),
        cancel: () => void (isCancelled = true),
      }),
    );
    for await (const _ of left) break;
    assert(isCancelled);
  }));
