// Versions of datasets are compared, and recent publications are found.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import {
  changedVersions,
  describeChanges,
  recentlyPublished,
} from "../../../src/client/dataset_versions.ts";
import type { DatasetVersion } from "../../../src/formats/citations.ts";

const dataset = (doi: string, version = "1.0.0", published = "2026-01-01T00:00:00.000Z") =>
  [doi, version, published] as const;
const BEFORE = [dataset("10.1/a"), dataset("10.1/b")];

const changes: [name: string, after: DatasetVersion[], doi?: string, text?: string][] = [
  ["nothing", BEFORE.toReversed()],
  [
    "a version",
    [dataset("10.1/a", "2.0.0"), BEFORE[1]!],
    "10.1/a",
    "10.1/a was version 1.0.0, published 2026-01-01T00:00:00.000Z, and is now version 2.0.0, " +
    "published 2026-01-01T00:00:00.000Z",
  ],
  [
    "a time",
    [BEFORE[0]!, dataset("10.1/b", "1.0.0", "2026-02-02")],
    "10.1/b",
    "10.1/b was version 1.0.0, published 2026-01-01T00:00:00.000Z, and is now version 1.0.0, " +
    "published 2026-02-02",
  ],
  ["an added dataset", [...BEFORE, dataset("10.1/c")], "10.1/c", "10.1/c was added"],
  ["a removed dataset", [BEFORE[1]!], "10.1/a", "10.1/a was removed"],
];
for (const [name, after, doi, text] of changes) {
  Deno.test(`changedVersions() and describeChanges() find ${name}`, () => {
    assertEquals(changedVersions(BEFORE, after).map((change) => change.doi), doi ? [doi] : []);
    assertEquals(describeChanges(BEFORE, after), text);
  });
}

Deno.test("describeChanges() names three datasets, and counts the others", () => {
  const after = ["a", "b", "c", "d", "e"].map((name) => dataset(`10.2/${name}`));
  const text = "10.2/a was added; 10.2/b was added; 10.2/c was added; and 2 more";
  assertEquals(describeChanges([], after), text);
});

Deno.test("recentlyPublished() returns datasets that were published less than ten minutes before", () => {
  const times = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2027-01-01T00:00:00Z", ""];
  const versions = times.map((time) => dataset("10.1/a", "1", time));
  const now = Date.parse("2026-01-01T00:10:00Z");
  assertEquals(recentlyPublished(versions, now), [versions[1]!, versions[2]!]);
});
