// Errors have the documented properties, and no line ends, control characters or secrets.
import "../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DataStream, DataStreamError, ValidationError } from "../../mod.ts";
import { messageFor, namesOf, suggestUnchecked } from "../../src/errors.ts";

Deno.test("DataStreamError() has its properties when status and wait are 0", () => {
  const cause = new Error("cause");
  const facts = {
    ...{ kind: "status", isTemporary: true, url: "u", hint: "do this" } as const,
    ...{ status: 0, retryAfter: 0, option: "maxRows" },
  };
  const error = new DataStreamError("detail", { ...facts, cause });
  assert(error instanceof Error);
  const { name, message, detail, kind, isTemporary, url, hint, status, retryAfter, option } = error;
  assertEquals({ kind, isTemporary, url, hint, status, retryAfter, option }, facts);
  const texts = [name, message, detail, error.cause];
  assertEquals(texts, ["DataStreamError", "detail: do this", "detail", cause]);
});

Deno.test("messageFor() replaces options of a DataStreamError when an interface has its own names", () => {
  const error = new DataStreamError("responded with {top}", {
    kind: "status",
    isTemporary: false,
    url: "https://a.test/x?y",
    hint: 'lower {top} or pass {partition: "auto"}, not {toString} or { top }',
  });
  assertEquals(
    error.message,
    'responded with {top}: lower top or pass partition: "auto", not toString or { top }',
  );
  assertEquals(
    messageFor(error, (option, value) => `--${option}${value ? ` ${value}` : ""}`),
    "responded with {top}: lower --top or pass --partition auto, " +
      "not --toString or { top }",
  );
});

Deno.test("DataStreamError has no line end or control character when the cause has them", async () => {
  const cause = new Error("a\r\n b\tc\x1b]0;d\x07");
  const client = new DataStream({ fetch: () => Promise.reject(cause), retry: { attempts: 1 } });
  const error = await assertRejects(() => client.metadata().toArray(), DataStreamError);
  assertEquals(
    error.detail,
    "No complete response from https://api.datastream.org (a b c ]0;d )",
  );
});

Deno.test("messageFor() replaces the options in hints of a ValidationError, and leaves out the hint to pass unchecked", () => {
  const facts = { received: "{top} eq 1", hint: "use {within} instead" };
  const error = suggestUnchecked(new ValidationError("filter", 'has "{top}"', facts));
  assertEquals(
    error.message,
    'filter has "{top}": use within instead (or pass unchecked: true, if DataStream accepts it)',
  );
  assertEquals(
    messageFor(error, namesOf({ filter: "$filter", within: "bbox" })),
    '$filter has "{top}": use bbox instead',
  );
});
