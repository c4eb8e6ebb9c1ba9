// Files with fewer rows than the service counted: an error, or accepted by --allow-incomplete.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { fileNames, readFile, runToEnd, serving, writeFile } from "../command_line.ts";

/** A service whose pages end after a given Id, and whose counts include all rows. */
function endingAfter(last: () => number): (request: Request) => Promise<Response> {
  const sandbox = createSandbox({
    hostileNames: true,
    records: 1_000,
    requestsPerSecond: Infinity,
  });
  return async (request) => {
    const response = await sandbox.fetch(request);
    const { pathname, searchParams } = new URL(request.url);
    if (!pathname.endsWith("/Records") || searchParams.has("$count")) return response;
    const { value } = await response.json();
    return Response.json({ value: value.filter(({ Id }: { Id: number }) => Id <= last()) });
  };
}

Deno.test("weir leaves the part and exits with 1 when it has fewer rows than the count", () => {
  let last = 0;
  const service = endingAfter(() => last);
  return serving(service, async (line, baseUrl) => {
    const rows = createSandbox({ hostileNames: true, records: 1_000, requestsPerSecond: Infinity });
    const url = `${rows.url}/Records?%24select=Id&%24top=1000`;
    const ids = (await (await rows.fetch(url, { headers: { "x-api-key": "sandbox" } })).json())
      .value.map(({ Id }: { Id: number }) => Id);
    last = ids[399];
    const baseArgs = ["records", baseUrl, "--select=Id,DOI", "--top=100", "--output=a.csv"];

    const refused = await runToEnd(line, ...baseArgs);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, `Received 400 of 1000 counted rows of Records`);
    assertStringIncludes(refused.stderr, `none come after the position Id:${last}`);
    assertStringIncludes(refused.stderr, "accept the rows with --allow-incomplete");
    assert((await fileNames()).includes("a.csv.part"));

    const accepted = await runToEnd(line, ...baseArgs, "--resume", "--allow-incomplete");
    assertEquals([accepted.code, await fileNames()], [0, ["a.csv"]]);
    assertStringIncludes(accepted.stderr, "600 rows are missing: DataStream counted more");
    assertEquals((await readFile("a.csv")).split("\r\n").length, 1 + 400 + 1);
    const { resources: [{ rows: kept }], weir } = JSON.parse(
      await readFile("a.csv.datapackage.json"),
    );
    assertEquals([kept, weir.missingRows], [400, 600]);

    const finished = await runToEnd(line, ...baseArgs, "--resume");
    assertEquals(finished.code, 0);
    assertStringIncludes(
      finished.stderr,
      "a.csv is complete, with 400 rows, 600 fewer than DataStream counted",
    );

    // A run that is killed while it writes the record leaves its new version.
    await writeFile("a.csv.datapackage.json.new", "{");
    last = Infinity;
    const whole = await runToEnd(line, ...baseArgs, "--update");
    assertEquals([whole.code, await fileNames()], [0, ["a.csv"]]);
    assertEquals((await readFile("a.csv")).split("\r\n").length, 1 + 1_000 + 1);
  });
});
