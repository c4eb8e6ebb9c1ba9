// Files with fewer rows than the service counted: an error, or accepted by --allow-incomplete.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Download } from "./download.ts";

Deno.test("weir leaves the part and exits with 1 when it has fewer rows than the count", async () => {
  await using download = await Download.create();
  // The sandbox has 300 rows, of which the service returns 40.
  const rows = (from: number) =>
    Array.from({ length: 20 }, (_, index) => ({ Id: from + index, DOI: "10.25976/weir-aa00" }));
  download.onPage = (number) => Response.json({ value: number < 3 ? rows(20 * number) : [] });
  const line = "--select=Id,DOI --top=20 !limit";
  const refused = await download.run(line);
  assertEquals([refused.code, (await download.names())[0]], [1, "a.csv.part"]);
  const message = refused.errors.join();
  assertStringIncludes(message, "Received 40 of 300 counted rows of Records");
  assertStringIncludes(message, "none come after the position Id:59");
  assertStringIncludes(message, "accept the rows with --resume --allow-incomplete");

  download.onPage = () => Response.json({ value: [] });
  const accepted = await download.run(line, ["--resume", "--allow-incomplete"]);
  assertEquals([accepted.code, await download.names()], [0, ["a.csv"]], accepted.errors.join());
  assertStringIncludes(
    accepted.errors.join(),
    "260 rows missing: DataStream counted more",
  );
  const path = `${download.folder}/a.csv`;
  assertEquals((await Deno.readTextFile(path)).split("\r\n").length, 1 + 40 + 1);
  const { resources: [resource], weir } = JSON.parse(
    await Deno.readTextFile(`${path}.datapackage.json`),
  );
  assertEquals([resource.rows, weir.missingRows], [40, 260]);

  const finished = await download.run(line, ["--resume"]);
  const text = "a.csv is complete, with 40 rows, 260 fewer than DataStream counted";
  assertEquals([finished.code, finished.errors.join().includes(text)], [0, true]);

  download.onPage = () => {};
  assertEquals((await download.run(line, ["--update"])).code, 0);
  assertEquals((await Deno.readTextFile(path)).split("\r\n").length, 1 + 300 + 1);
});
