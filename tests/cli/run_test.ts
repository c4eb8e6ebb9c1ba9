import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { run } from "../../src/cli/run.ts";
import { readCsv } from "../helpers/rfc4180.ts";
import { VERSION } from "../../src/version.ts";

interface Ran {
  code: number;
  closed: boolean;
  output: string;
  errors: string[];
  files: Map<string, string>;
}

async function weir(line: string[], environment: Record<string, string> = {}): Promise<Ran> {
  const chunks: string[] = [];
  const decoder = new TextDecoder();
  const errors: string[] = [];
  const files = new Map<string, string>();
  let closed = false;
  const code = await run(line, {
    environment: (name) => environment[name],
    output: new WritableStream({
      write: (chunk) => void chunks.push(decoder.decode(chunk)),
      close: () => void (closed = true),
    }),
    writeFile: async (path, bytes) => void files.set(path, await new Response(bytes).text()),
    error: (text) => errors.push(text),
  });
  return { code, closed, output: chunks.join(""), errors, files };
}

Deno.test("weir records writes CSV to standard output", async () => {
  const { code, output, errors } = await weir([
    "records",
    "--sandbox",
    "--select",
    "Id, ResultValue",
    "--filter",
    "LocationId eq 1015",
    "--top",
    "10000",
  ]);
  assertEquals([code, errors], [0, []]);
  const [header, ...rows] = readCsv(output);
  assertEquals([header, rows.length], [["Id", "ResultValue"], 450]);
});

Deno.test("weir records --output writes a file", async () => {
  const { code, output, files } = await weir([
    "records",
    "--sandbox",
    "--select=Id",
    "--filter=DOI eq 'none'",
    "--output",
    "none.csv",
  ]);
  assertEquals([code, output, [...files]], [0, "", [["none.csv", "Id\r\n"]]]);
});

Deno.test("weir --help and --version answer without a command", async () => {
  const help = await weir(["--help"]);
  assertEquals([help.code, help.errors, help.closed], [0, [], true]);
  assertStringIncludes(help.output, "DATASTREAM_API_KEY");
  assertEquals((await weir(["--version"])).output, `${VERSION}\n`);
});

const misused: [line: string[], message: string][] = [
  [[], 'Wanted "weir records"'],
  [["recrds"], "weir recrds"],
  [["records", "more"], "weir records more"],
  [["records", "--bogus"], "--bogus"],
  [["records", "--top"], "--top"],
  [["records", "--sandbox", "--top", "many"], "1 to 10000"],
  [["records", "--sandbox", "--top", "10x"], "1 to 10000"],
  [["records", "--sandbox", "--filter", ""], "empty filter"],
  [["records", "--sandbox", "--output", ""], "--output"],
  [["records", "--sandbox", "--select=Id", "--select", "DOI"], "--select is given twice"],
  [["records", "--sandbox", "--select", "LocationId"], '"LocationId"'],
  [["records", "--sandbox", "--base-url", "https://example.org"], "not both"],
  [["records"], "DATASTREAM_API_KEY"],
];
for (const [line, message] of misused) {
  Deno.test(`weir ${line.join(" ")} is a wrong command line: 2`, async () => {
    const { code, output, errors } = await weir(line);
    assertEquals([code, output], [2, ""]);
    assertStringIncludes(errors[0]!, message);
  });
}

Deno.test("weir writes the columns in the order of --select", async () => {
  const { output } = await weir(["records", "--sandbox", "--select=DOI,Id", "--filter=DOI eq 'x'"]);
  assertEquals(output, "DOI,Id\r\n");
});

Deno.test("weir reads the key from DATASTREAM_API_KEY", async () => {
  const line = ["records", "--base-url", "http://127.0.0.1:4711"];
  // Without the permission to reach it, which these tests do not have.
  assertEquals((await weir(line, { DATASTREAM_API_KEY: "k" })).code, 1);
  assertEquals((await weir(line, { OTHER: "k" })).code, 2);
});

Deno.test("weir refuses to send the key unencrypted, and does not show it", async () => {
  const { code, errors } = await weir(["records", "--base-url", "http://example.org"], {
    DATASTREAM_API_KEY: "secret-key",
  });
  assertEquals([code, errors.join().includes("secret-key")], [2, false]);
});

Deno.test("a filter that is none is a wrong command line", async () => {
  const { code, output, errors } = await weir(["records", "--sandbox", "--filter", "DOI ge 'x'"]);
  assertEquals([code, output], [2, ""]);
  assertStringIncludes(errors[0]!, 'use "gte"');
});

Deno.test("a fault is one line and 1", async () => {
  const filter = "LocationId eq 'x'";
  const { code, output, errors } = await weir(["records", "--sandbox", "--filter", filter]);
  assertEquals([code, output, errors.length], [1, "", 1]);
  assertStringIncludes(errors[0]!, "compared with a number");
  assert(!/[\p{Cc}]/u.test(errors[0]!));
});
