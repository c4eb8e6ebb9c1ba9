// The package beside a file describes it, and another program opens both unchanged.
import { assert, assertEquals } from "@std/assert";
import { toDataPackage } from "../../src/formats/data_package.ts";
import { FORMAT_NAMES, formatsOf } from "../../src/formats/formats.ts";
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
        const { resources: [{ rows, schema }], sources, licenses, weir } = JSON.parse(
          await Deno.readTextFile(path),
        );
        const opened = await open(path);
        assertEquals(opened.descriptor.profile, "tabular-data-package");
        assertEquals((await opened.resources[0]!.read()).length, rows);
        const names = schema.fields.map(({ name }: { name: string }) => name);
        if (rows > 0) assertEquals(opened.resources[0]!.headers, names);
        assert(rows > 0 === !line.includes("--filter=CharacteristicName eq 'nothing'"));
        assert(!weir.url.includes("key"), weir.url);
        if (rows === 0) return;
        for (const { title, path, doi, version, published, citation, licence } of sources) {
          assert(title && version && published && citation.includes(path) && licence);
          assertEquals(path, `https://doi.org/${doi}`);
          assert(licenses.some((known: { path: string }) => known.path === licence));
        }
        // The columns of units exist.
        for (const { unitField } of schema.fields) {
          assert(unitField === undefined || names.includes(unitField) || line.length > 3);
        }
      }),
  ));
}

Deno.test(needing(
  needs,
  "toDataPackage() is valid for every resource and format, with and without the facts of a file",
  () =>
    withFiles(async () => {
      for (const resource of RESOURCE_NAMES) {
        for (const format of formatsOf(resource)) {
          const file = {
            ...{ fileName: `Données ${resource}.${format}`, resource, format },
            ...{ columns: [...fieldNames(resource), "NewField"], url: "https://service.example/" },
            ...{ created: new Date(0), more: {} },
          };
          const citation = {
            ...{ doi: "10.25976/weir-aa00", link: "https://doi.org/10.25976/weir-aa00" },
            ...{ name: "A", organization: "", version: "1", published: "", citation: "A" },
            licence: "Public domain",
          };
          const facts = { bytes: 1, rows: 0, hash: "sha256:00", citations: [citation] };
          for (const more of [{}, facts]) {
            await writeFile("a.json", JSON.stringify(toDataPackage({ ...file, ...more })));
            await open(`${FOLDER}/a.json`);
          }
        }
      }
      assert(FORMAT_NAMES.length > 3);
    }),
));
