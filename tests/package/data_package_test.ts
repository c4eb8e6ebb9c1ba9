// The package beside a file describes it, and another program opens both unchanged.
import { assert, assertEquals } from "@std/assert";
import { toDataPackage } from "../../src/formats/data_package.ts";
import { formatsOf } from "../../src/formats/formats.ts";
import { fieldNames, RESOURCE_NAMES } from "../../src/odata/resources.ts";
import { FOLDER, runToEnd, withFiles, writeFile } from "../e2e/command_line.ts";
import { needing } from "../e2e/needs.ts";
import { loadInstalled } from "./installed_package.ts";

interface DataPackage {
  valid: boolean;
  errors: unknown[];
  descriptor: { profile: string };
  resources: { headers: string[]; read(): Promise<unknown[]> }[];
}

const npm = loadInstalled<{ Package: { load(path: string): Promise<DataPackage> } }>("datapackage");
const needs = { datapackage: npm };

/** Opens a package, which validates it against the JSON Schema of its profile. */
async function open(path: string) {
  const found = await npm!.Package.load(path);
  assertEquals(found.errors.map(String), []);
  assert(found.valid);
  return found;
}

/** Commands whose files differ in resource, columns or dialect. */
const DOWNLOADS: readonly (readonly string[])[] = [
  ["records", "--characteristic=pH", "--tidy"],
  ["observations", "--separator=;", "--eol=lf", "--select=Id,ResultValue,ActivityStartDate"],
  ["locations", "--escape-formulas"],
  ["metadata"],
  ["records", "--filter=CharacteristicName eq 'nothing'"],
];
for (const line of DOWNLOADS) {
  Deno.test(needing(
    needs,
    `npm's datapackage reads every row that weir ${line.join(" ")} has described`,
    () =>
      withFiles(async () => {
        const common = ["--sandbox", "--limit=40", "--quiet", "--output=a.csv"];
        const { code, stderr } = await runToEnd({ hasFiles: true }, ...line, ...common);
        assertEquals(code, 0, stderr);
        const path = `${FOLDER}/a.csv.datapackage.json`;
        const { resources: [{ rows, schema }] } = JSON.parse(await Deno.readTextFile(path));
        const { descriptor, resources: [file] } = await open(path);
        assertEquals(descriptor.profile, "tabular-data-package");
        assertEquals((await file!.read()).length, rows);
        assertEquals(rows > 0, !line.includes("--filter=CharacteristicName eq 'nothing'"));
        const names = schema.fields.map(({ name }: { name: string }) => name);
        if (rows > 0) assertEquals(file!.headers, names);
      }),
  ));
}

Deno.test(
  needing(
    needs,
    "toDataPackage() is valid for every resource and format",
    () =>
      withFiles(async () => {
        for (const resource of RESOURCE_NAMES) {
          for (const format of formatsOf(resource)) {
            const file = {
              fileName: `Données ${resource}.${format}`,
              resource,
              format,
              columns: [...fieldNames(resource), "NewField"],
              url: "https://service.example/",
              created: new Date(0),
              more: {},
            };
            await writeFile("a.json", JSON.stringify(toDataPackage(file)));
            await open(`${FOLDER}/a.json`);
          }
        }
      }),
  ),
);
