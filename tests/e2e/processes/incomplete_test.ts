// Files with another number of rows than the service counted: an error, or accepted by --allow-incomplete.
import { assertEquals } from "@std/assert";
import { BASE_URL, Download } from "./download.ts";

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

Deno.test("weir says that the data changed, and not how to accept the rows, when there are more than the count", async () => {
  await using download = await Download.create();
  const value = Array.from({ length: 20 }, (_, Id) => ({ Id, DOI: "10.25976/weir-aa00" }));
  const link = `${BASE_URL}/Records?$skiptoken=Id:19`;
  // The sandbox has 300 rows after them.
  download.onPage = (number) => {
    if (number === 1) return Response.json({ value, "@odata.nextLink": link });
  };
  const line = "--select=Id,DOI --top=20 !limit";
  const files = ["a.csv.part", "a.csv.part.json"];
  const says = ["the data changed during the download", "320 rows: start again with --force"];
  await download.expect(line, { code: 1, files, says });
  await download.expect(`${line} --allow-incomplete`, { files: ["a.csv"] });
  const { missingRows, surplusRows } = (await download.package()).weir;
  assertEquals([missingRows, surplusRows], [0, 20]);
  const finished = ["a.csv is complete, with 320 rows, 20 more than DataStream counted"];
  await download.expect(line, { says: finished });
});
