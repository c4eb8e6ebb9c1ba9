// What the compiler makes of a query: rows as narrow as the selection, and no wrong name.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import {
  and,
  boundingBox,
  DataStream,
  eq,
  type Field,
  type Filter,
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

Deno.test("a list of fields narrows the row, a literal text too, and no selection gives all", () => {
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

Deno.test("a selection that is not literal gives rows that may lack any field", () => {
  const names: string = "Id,DOI";
  same<Partial<Row<"Locations">>>()(client.locations({ select: names }));
  const fields: Field<"Locations">[] = ["Id"];
  same<Partial<Row<"Locations">>>()(client.locations({ select: fields }));
});

Deno.test("a field that the resource lacks does not compile", () => {
  const wrong: (() => unknown)[] = [
    // @ts-expect-error -- Records has no LocationId
    () => client.records({ select: ["LocationId"] }),
    // @ts-expect-error -- nor as a text
    () => client.records({ select: "Id,LocationId" }),
    // @ts-expect-error -- Observations has no DatasetName
    () => client.observations({ select: ["Id", "DatasetName"] }),
  ];
  assertEquals(wrong.length, 3);
});

Deno.test("a filter takes the names of its resource alone, and each its own kind of value", () => {
  client.locations({ filter: and(boundingBox(box), eq("Name", "x")) });
  client.metadata({ filter: and(gt("CreateTimestamp", "2020-01-01"), eq("DatasetName", "x")) });
  client.records({ filter: and(isIn("LocationId", [1, 2]), eq("DOI", "x")) });
  const wrong: (() => unknown)[] = [
    // @ts-expect-error -- a box is no filter of Records
    () => client.records({ filter: boundingBox(box) }),
    // @ts-expect-error -- nor beside another
    () => client.observations({ filter: and(eq("DOI", "x"), boundingBox(box)) }),
    // @ts-expect-error -- Locations has no DatasetName
    () => client.locations({ filter: eq("DatasetName", "x") }),
    // @ts-expect-error -- a misspelt name
    () => client.records({ filter: eq("Doi", "x") }),
    // @ts-expect-error -- a number is no text
    () => eq("DOI", 5),
    // @ts-expect-error -- a text is no number
    () => eq("LocationId", "5"),
    // @ts-expect-error -- a list of the other kind
    () => isIn("LocationId", ["5"]),
  ];
  assertEquals(wrong.length, 7);
});

Deno.test("a filter can be built step by step, of names that every resource has", () => {
  const parts: Filter[] = [eq("DOI", "x")];
  parts.push(eq("CharacteristicName", "pH"));
  const filter: Filter = and(...parts);
  client.metadata({ filter });
  client.locations({ filter });
  client.observations({ filter });
  client.records({ filter });
});

Deno.test("within and partition are for Observations and Records alone", () => {
  client.records({ within: box, partition: "location" });
  const wrong: (() => unknown)[] = [
    // @ts-expect-error -- a box is a filter there
    () => client.locations({ within: box }),
    // @ts-expect-error -- and nothing is split
    () => client.metadata({ partition: "year" }),
    // @ts-expect-error -- no such word
    () => client.records({ partition: "month" }),
  ];
  assertEquals(wrong.length, 3);
});

Deno.test("an unchecked query takes any name, and knows no types", () => {
  same<Record<string, unknown>>()(
    client.records({ unchecked: true, select: ["Id", "New"], filter: eq("Newer", 5) }),
  );
});
