import { assert, assertEquals } from "@std/assert";
import { DataStream } from "../../mod.ts";
import { createProgram, type JobResult, type Reading } from "./stream_program.ts";
import { createStreamService, pageUrls, streamUrl } from "./stream_service.ts";
import { formatStreamTable, isMet, type StreamRow } from "./stream_table.ts";

Deno.test("createProgram() reads all records of the service when it runs each reading", async () => {
  const service = createStreamService(50);
  const baseUrl = streamUrl("http://127.0.0.1", "mostly nulls", "plain", 120);
  const [firstPage] = pageUrls(baseUrl, 120);
  const program = createProgram(DataStream, (input) => service(new Request(input)));
  const run = async (reading: Reading): Promise<JobResult> => {
    const body = JSON.stringify({ reading, baseUrl, pages: [firstPage] });
    return await (await program.fetch(new Request("http://127.0.0.1", { method: "POST", body })))
      .json();
  };
  assertEquals((await run("rows")).length, 120);
  const { length, first, last } = await run("ndjson");
  assert(length > 120 * 100, "a row is longer than 100 bytes");
  assert(first <= last);
  const page = await service(new Request(firstPage!));
  const bodyLength = (await page.bytes()).length;
  assertEquals((await run("bodies")).length, bodyLength);
  const chunksLength = (await run("bodies and new chunks")).length;
  assert(chunksLength > bodyLength / 6 && chunksLength <= bodyLength / 5);
});

const ROW: StreamRow = { name: "csv", runtime: "Node", unit: "MB", before: [90, 200], after: [] };

Deno.test("isMet() compares the median of the ratios when a row has no limit", () => {
  assertEquals(isMet({ ...ROW, after: [100, 205] }), true);
  assertEquals(isMet({ ...ROW, after: [100, 220] }), false);
  assertEquals(isMet({ ...ROW, after: [100, 220], limit: 220 }), true);
  assertEquals(isMet({ ...ROW, after: [100, 220], limit: 219 }), false);
  assertEquals(isMet({ ...ROW, before: [], after: [1] }), true);
});

Deno.test("formatStreamTable() leaves cells empty when a row has no values before the change", () => {
  const table = formatStreamTable([{ ...ROW, before: [], after: [50, 60, 70] }]);
  assertEquals(
    table.split("\n").at(-1),
    "| csv       | Node    |        | 60.0  | MB   |       |        |     |",
  );
});
