// The package beside a file describes it, and another program opens both unchanged.
import { assert, assertEquals } from "@std/assert";
import { createRequire } from "node:module";
import { FORMAT_NAMES } from "../../src/formats/formats.ts";
import { overSandbox } from "../helpers/edge.ts";
import { FOLDER, runToEnd, testWithFiles, writeFile } from "../e2e/command_line.ts";
import { PROJECT } from "../helpers/project.ts";

interface DataPackage {
  valid: boolean;
  errors: unknown[];
  descriptor: { profile: string };
  resources: { headers: string[]; read(): Promise<unknown[]> }[];
}

/** Loads the npm package that `.ci/run` installs: it is not in `deno.lock`, from which each clone downloads everything. */
function load(): { Package: { load(path: string): Promise<DataPackage> } } | undefined {
  const folder = Deno.env.get("NODE_PATH") ?? `${PROJECT}node_modules`;
  try {
    return createRequire(`${folder}/../tests.cjs`)("datapackage");
  } catch {
    return undefined;
  }
}

const npm = load();
const needs = { datapackage: npm };

/** Opens a package, which validates it against the JSON Schema of its profile. */
async function open(path: string) {
  const found = await npm!.Package.load(path);
  assertEquals(found.errors.map(String), []);
  assert(found.valid);
  return found;
}

/** Commands whose files differ in columns, dialect or rows. */
const DOWNLOADS = [
  "records --characteristic=pH --tidy",
  "observations --separator=; --eol=lf --select=Id,ResultValue,ActivityStartDate",
];
for (const line of DOWNLOADS) {
  testWithFiles(`npm's datapackage reads every row that weir ${line} has described`, async () => {
    const common = ["--sandbox", "--limit=40", "--quiet", "--output=a.csv"];
    const { code, stderr } = await runToEnd(
      { hasFiles: true },
      ...line.split(" "),
      ...common,
    );
    assertEquals(code, 0, stderr);
    const path = `${FOLDER}/a.csv.datapackage.json`;
    const { resources: [{ rows, schema }] } = JSON.parse(await Deno.readTextFile(path));
    const { descriptor, resources: [file] } = await open(path);
    assertEquals(descriptor.profile, "tabular-data-package");
    assertEquals((await file!.read()).length, rows);
    assertEquals(
      file!.headers,
      schema.fields.map(({ name }: { name: string }) => name),
    );
  }, needs);
}

testWithFiles("npm's datapackage accepts the package of each format of a server", async () => {
  const { app } = overSandbox();
  for (const format of FORMAT_NAMES) {
    const response = await app.request(
      `/Locations.datapackage.json?limit=12&$format=${format}`,
    );
    await writeFile("a.json", await response.text());
    await open(`${FOLDER}/a.json`);
  }
}, needs);
