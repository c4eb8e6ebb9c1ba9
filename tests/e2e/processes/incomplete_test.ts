// Files with fewer rows than the service counted: an error, or accepted by --allow-incomplete.
import { assertEquals } from "@std/assert";
import { Download } from "./download.ts";

Deno.test("weir leaves the part and exits with 1 when it has fewer rows than the count", async () => {
  await using download = await Download.create();
  const countRows = async () => (await download.text()).split("\r\n").length - 2;
  // The sandbox has 300 rows, of which the service returns 40.
  const rows = (from: number) =>
    Array.from({ length: 20 }, (_, index) => ({ Id: from + index, DOI: "10.25976/weir-aa00" }));
  download.onPage = (number) => Response.json({ value: number < 3 ? rows(20 * number) : [] });
  const line = "--select=Id,DOI --top=20 !limit";
  await download.expect(line, {
    code: 1,
    files: ["a.csv.part", "a.csv.part.json"],
    says: [
      "Received 40 of 300 counted rows of Records",
      "none come after the position Id:59",
      "accept the rows with --allow-incomplete",
    ],
  });

  download.onPage = () => Response.json({ value: [] });
  await download.expect(`${line} --allow-incomplete`, {
    files: ["a.csv"],
    says: ["260 rows missing: DataStream counted more"],
  });
  const { resources: [resource], weir } = await download.package();
  assertEquals([await countRows(), resource.rows, weir.missingRows], [40, 40, 260]);
  const says = ["a.csv is complete, with 40 rows, 260 fewer than DataStream counted"];
  await download.expect(line, { says });

  download.onPage = () => {};
  await download.expect(`${line} --update`);
  assertEquals(await countRows(), 300);
});
