// Compares two versions of Weir in the current runtime. `compare.ts` starts it with the URLs of bundles
// of `mod.ts` before and after a change.
import process from "node:process";
import type * as weir from "../../mod.ts";
import { fieldNames } from "../../src/odata/resources.ts";
import { compareBuilders } from "./endpoint_calls.ts";
import { compare } from "./measurement.ts";
import { pagesOf, queriesFromMemory, READS, SELECTIONS } from "./query_reads.ts";

const [, , beforeUrl, afterUrl] = process.argv;
const before: typeof weir = await import(beforeUrl!);
const after: typeof weir = await import(afterUrl!);

await compareBuilders(before.endpoint, after.endpoint);
const queryBefore = queriesFromMemory(before.DataStream);
const queryAfter = queriesFromMemory(after.DataStream);
const [page] = await pagesOf(queryAfter(undefined));
const columns = fieldNames("Records");
await compare(
  "csvFromPage()",
  () => () => before.csvFromPage(page!, { columns }),
  () => () => after.csvFromPage(page!, { columns }),
);
for (const [width, select] of Object.entries(SELECTIONS)) {
  for (const [name, read] of Object.entries(READS)) {
    await compare(
      `${name}, ${width}`,
      () => () => read(queryBefore(select)),
      () => () => read(queryAfter(select)),
    );
  }
}
