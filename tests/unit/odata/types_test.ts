// Types of queries and filters: rows have only the selected fields, and wrong names do not compile.
import "../../helpers/no_permission.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  and,
  type AnyResourceQuery,
  boundingBox,
  DataStream,
  eq,
  type Field,
  gt,
  isIn,
  type Query,
  type ResourceName,
  type ResourceQuery,
  type Row,
  type TidyRow,
  ValidationError,
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

Deno.test("query() and filters do not compile when a field, a value or a resource is wrong", () => {
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
    // @ts-expect-error -- a misspelt name in a text
    () => client.records({ select: "Id,ResultVal" }),
    // @ts-expect-error -- there is no such resource
    () => client.query("Record"),
  ];
  assertEquals(wrong.length, 10);
});

Deno.test("query() keeps the types of known fields when it is unchecked", () => {
  const filter = eq("Newer", 5);
  same<{ Id: number } & Record<string, unknown>>()(
    client.records({ unchecked: true, select: ["Id", "New"], filter }),
  );
  same<Row<"Locations"> & Record<string, unknown>>()(client.locations({ unchecked: true }));
});

Deno.test("query() has the columns of TidyRow when tidy is true, and may have them when it is a boolean", () => {
  same<{ Id: number } & TidyRow>()(client.records({ select: ["Id"], tidy: true }));
  same<Row<"Observations"> & TidyRow>()(client.observations({ tidy: true, from: "2020-01-01" }));
  same<Row<"Records"> & TidyRow>()(client.query("Records", { tidy: true }));
  same<{ Id: number }>()(client.records({ select: ["Id"], tidy: false }));
  const tidy = false as boolean;
  same<{ Id: number } & Partial<TidyRow>>()(client.records({ select: ["Id"], tidy }));
});

Deno.test("query() has rows of the selected fields when the selection has a type parameter", () => {
  const select = <const S extends Field<"Records">[]>(select: S) => client.records({ select });
  same<{ Id: number; DOI: string }>()(select(["Id", "DOI"]));
  const tidy = <const S extends readonly Field<"Observations">[]>(select: S) =>
    client.observations({ select, tidy: true });
  same<{ LocationId: number } & TidyRow>()(tidy(["LocationId"]));
  // @ts-expect-error -- Records has no LocationId
  assertThrows(() => select(["LocationId"]), ValidationError);
  const options: ResourceQuery<"Records"> = { from: "2020-01-01", limit: 10 };
  same<{ Id: number }>()(client.records({ ...options, select: ["Id"] }));
  same<Row<"Records">>()(client.records(options));
  const any: AnyResourceQuery = { select: ["Id"], tidy: true };
  same<Record<string, unknown>>()(client.query<ResourceName>("Records", any));
});

Deno.test("query() does not compile when the resource has no such option", () => {
  const wrong: (() => unknown)[] = [
    // @ts-expect-error -- Metadata is not split
    () => client.metadata({ partition: "never" }),
    // @ts-expect-error -- datasets have no days
    () => client.metadata({ from: "2020-01-01" }),
    // @ts-expect-error -- locations have no days
    () => client.locations({ to: "2020-01-01" }),
    // @ts-expect-error -- locations have no results
    () => client.locations({ tidy: true }),
    // @ts-expect-error -- datasets have no results
    () => client.metadata({ units: { Nitrate: "mg/L" } }),
    // @ts-expect-error -- locations have no results
    () => client.query("Locations", { excludeQualityControl: true }),
  ];
  assertEquals(wrong.length, 6);
});
