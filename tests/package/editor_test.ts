// In an editor, the types of the npm package propose the fields of each resource, and explain typical mistakes on at most three
// lines.
import { assert, assertEquals } from "@std/assert";
import ts from "typescript";
import { RESOURCE_NAMES, RESOURCES } from "../../src/odata/resources.ts";
import { type ConsumerProject, createProject } from "./project.ts";

const START = `import { DataStream, eq, type Field } from "@weir/datastream";
const client = new DataStream();
`;

let project: ConsumerProject;
let program = "";
let version = 0;
let service: ts.LanguageService;

Deno.test.beforeAll(async () => {
  project = await createProject();
  const file = `${project.folder}program.ts`;
  const readFile = (path: string) => path === file ? program : ts.sys.readFile(path);
  const fileExists = (path: string) => path === file || ts.sys.fileExists(path);
  const options: ts.CompilerOptions = {
    lib: ["lib.es2024.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    strict: true,
    target: ts.ScriptTarget.ES2024,
    types: [],
  };
  service = ts.createLanguageService({
    fileExists,
    readFile,
    getCompilationSettings: () => options,
    getCurrentDirectory: () => project.folder,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptSnapshot: (path) => {
      const text = readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getScriptVersion: (path) => path === file ? String(version) : "",
  });
});
Deno.test.afterAll(() => Deno.remove(project.folder, { recursive: true }));

/** Opens a program in the editor; `|` is the cursor. Returns the file and the position. */
function open(code: string): [file: string, position: number] {
  const text = START + code;
  const position = text.indexOf("|");
  program = text.replace("|", "");
  version++;
  return [`${project.folder}program.ts`, position];
}

for (const resource of RESOURCE_NAMES) {
  Deno.test(`an editor proposes the fields of ${resource} in select`, () => {
    const method = resource.toLowerCase();
    for (
      const code of [
        `client.${method}({ select: ["|"] });`,
        `client.${method}({ limit: 5, select: ["Id", "|"] });`,
        `client.${method}({ unchecked: true, select: ["|"] });`,
        `client.query("${resource}", { select: ["|"] });`,
      ]
    ) {
      const proposed = service.getCompletionsAtPosition(...open(code), {})!.entries;
      const fields = Object.keys(RESOURCES[resource].fields);
      assertEquals(proposed.map(({ name }) => name).sort(), fields.sort(), code);
    }
  });
}

const mistakes: [code: string, message: string][] = [
  [`client.records({ select: ["Id", "LocationId"] });`, `'"LocationId"' is not assignable`],
  [`client.records({ select: ["ResultVal"] });`, `Did you mean '"ResultValue"'?`],
  [`client.records({ select: "Id,ResultVal" });`, "is not a field of Records"],
  [`client.query("Records", { select: ["LocationId"] });`, `'"LocationId"' is not assignable`],
  [`client.query("Record", {});`, `'"Record"' is not assignable`],
  [`client.records({ slect: ["Id"] });`, "Did you mean to write 'select'?"],
  [`client.records({ top: "5" });`, "'string' is not assignable to type 'number'"],
  [`client.locations({ from: "2020-01-01" });`, "'from' does not exist"],
  [`client.metadata({ tidy: true });`, "'tidy' does not exist"],
  [`client.query("Metadata", { units: { Nitrate: "mg/L" } });`, "'units' does not exist"],
  [`client.records({ filter: eq("Doi", "x") });`, `Did you mean '"DOI"'?`],
  [`client.locations({ filter: eq("DatasetName", "x") });`, `'"DatasetName"' is not assignable`],
  [`eq("LocationId", "5");`, "'string' is not assignable to parameter of type 'number'"],
  [`client.records().csv({ seperator: ";" });`, "Did you mean to write 'separator'?"],
  [
    `client.records({ select: ["Id"] }).toArray().then(([row]) => row!.DOI);`,
    "'DOI' does not exist",
  ],
  [
    `(<const S extends Field<"Records">[]>(select: S) => client.records({ select }))(["Name"]);`,
    `'"Name"' is not assignable to type 'Field<"Records">'`,
  ],
];
for (const [code, message] of mistakes) {
  Deno.test(`an editor explains on at most three lines what is wrong with ${code}`, () => {
    const [file] = open(code);
    const errors = service.getSemanticDiagnostics(file)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
    assertEquals(errors.length, 1, errors.join("\n"));
    assert(errors[0]!.includes(message) && errors[0]!.split("\n").length < 4, errors[0]);
  });
}
