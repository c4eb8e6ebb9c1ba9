// Types of queries and filters: rows have only the selected fields, and wrong names do not compile.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import {
  and,
  boundingBox,
  DataStream,
  eq,
  type Field,
  gt,
  isIn,
  type Query,
  type Row,
} from "../../../mod.ts";

const client = new DataStream();
const box = { west: -64, south: 46, east: -62, north: 47 };

/** Fails to compile where the two types differ. */
function same<A>() {
  return <B>(_query: Query<B>, ..._: [A, B] extends [B, A] ? [] : ["the rows differ"]) => {};
}

Deno.test("query() has rows of the selected fields when the selection is a literal", () => {
  type Narrow = { Id: number; ResultValue: number | null };
  same<Narrow>()(client.records({ select: ["Id", "ResultValue"] }));
  same<Narrow>()(client.records({ select: "Id, ResultValue" }));
  same<{ Keywords: string[] | string }>()(client.metadata({ select: ["Keywords"] }));
  same<{ LocationId: number }>()(client.observations({ select: ["LocationId"], within: box }));
  same<Row<"Locations">>()(client.locations());
  same<Row<"Records">>()(client.records({ top: 5 }));
  // @ts-expect-error -- the rows differ, so that this test can fail
  same<Row<"Records">>()(client.records({ select: ["Id"] }));
});

Deno.test("query() has rows of optional fields, or that any string indexes, when the selection is not a literal", () => {
  const fields: Field<"Locations">[] = ["Id"];
  same<Partial<Row<"Locations">>>()(client.locations({ select: fields }));
  type Loose = Partial<Row<"Locations">> & Record<string, unknown>;
  const name: string = "DOI";
  same<Loose>()(client.locations({ select: name }));
  same<Loose>()(client.locations({ select: ["Id", name] }));
  const names = ["Id", "DOI"] as string[] | undefined;
  same<Loose | Row<"Locations">>()(client.locations({ select: names }));
});

Deno.test("query() and filters do not compile when a field, a value or a partition is wrong", () => {
  client.locations({ filter: and(boundingBox(box), eq("Name", "x")) });
  client.metadata({ filter: and(gt("CreateTimestamp", "2020-01-01"), eq("DatasetName", "x")) });
  client.records({ filter: and(isIn("LocationId", [1, 2]), eq("DOI", "x")), partition: "never" });
  const wrong: (() => unknown)[] = [
    // @ts-expect-error -- Records has no LocationId
    () => client.records({ select: ["LocationId"] }),
    // @ts-expect-error -- a box is no filter of Records
    () => client.records({ filter: boundingBox(box) }),
    // @ts-expect-error -- Locations has no DatasetName
    () => client.locations({ filter: eq("DatasetName", "x") }),
    // @ts-expect-error -- a misspelt name in a condition
    () => client.records({ filter: and(and(), undefined, eq("Doi", "x")) }),
    // @ts-expect-error -- a number is no text
    () => eq("DOI", 5),
    // @ts-expect-error -- a text is no number
    () => eq("LocationId", "5"),
    // @ts-expect-error -- a text is no filter
    () => and("DOI eq 'x'"),
    // @ts-expect-error -- true is no filter
    () => and(true),
    // @ts-expect-error -- Metadata is not split
    () => client.metadata({ partition: "never" }),
  ];
  assertEquals(wrong.length, 9);
});

Deno.test("query() has untyped rows when it is unchecked", () => {
  same<Record<string, unknown>>()(
    client.records({ unchecked: true, select: ["Id", "New"], filter: eq("Newer", 5) }),
  );
});
