// The layers of the code: which part may import which others.
import { assert, assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };
import { importsOf, resolve, sourceFiles } from "../../helpers/project.ts";

/** Folders that each folder may import; `src` is only the files directly in it. */
const MAY_IMPORT: Record<string, string[]> = {
  "mod.ts": ["src", "src/client", "src/endpoint", "src/odata", "src/formats"],
  src: [],
  "src/endpoint": ["src"],
  "src/odata": ["src"],
  "src/formats": ["src", "src/odata"],
  "src/client": ["src", "src/endpoint", "src/odata", "src/formats"],
  "src/sandbox": ["src", "src/odata"],
  "src/cli": ["src", "src/client", "src/odata", "src/formats", "src/sandbox", "src/signing"],
  "src/signing": ["src"],
  edge: [
    "src",
    "src/client",
    "src/odata",
    "src/formats",
    "src/sandbox",
    "src/signing",
    "edge/downloads",
    "edge/operation",
    "edge/page",
  ],
  "edge/downloads": [
    "src",
    "src/client",
    "src/odata",
    "src/formats",
    "src/signing",
    "edge",
    "edge/operation",
  ],
  "edge/operation": ["src", "src/client", "src/odata", "edge", "edge/downloads"],
  "edge/deno": ["src", "src/client"],
  "edge/cloudflare": ["src", "src/client", "edge", "edge/operation"],
  "edge/page": [
    "src",
    "src/client",
    "src/endpoint",
    "src/odata",
    "src/formats",
    "src/signing",
    "edge",
    "edge/downloads",
    "edge/operation",
    "edge/page/data",
    "edge/page/scripts",
  ],
  "edge/page/scripts": [],
};
/** Modules that may import a folder that their own folder may not. */
const EXCEPTIONS: Record<string, string> = {
  // The command that starts the server. It loads the module when it runs.
  "src/cli/serve.ts": "edge/operation",
};
/** Modules of some runtimes, which may use their globals and modules. */
const ENTRIES = [
  "edge/demo.ts",
  "edge/serve.ts",
  "edge/node.ts",
  "edge/deno/kv_rate_limiter.ts",
  "edge/operation/start.ts",
  "edge/operation/server_process.ts",
];

const files = await sourceFiles("mod.ts", "src", "edge");
const localImports = (path: string) =>
  importsOf(path).filter((name) => name.startsWith(".")).map((name) => resolve(path, name));
const folderOf = (path: string) => path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;

const codeOf = (path: string) =>
  Deno.readTextFileSync(path).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

/** Returns the globals and modules of a file that some runtimes lack. */
function runtimeSpecificNames(path: string): string[] {
  if (path.startsWith("src/cli/") || ENTRIES.includes(path)) return [];
  const code = codeOf(path);
  return [
    ...(code.match(/\b(Deno|process|Buffer|require)\b(?=[.(])/g) ?? []),
    ...importsOf(path).filter((name) => name.startsWith("node:")),
    ...(path.startsWith("src/") ? code.match(/\bconsole\b/g) ?? [] : []),
  ];
}

Deno.test("modules import only lower layers and use only portable globals when they are portable", () => {
  const violations = files.flatMap((path) => {
    const folder = folderOf(path);
    const upward = localImports(path).filter((target) =>
      ![folder, EXCEPTIONS[path], ...MAY_IMPORT[folder]!].includes(folderOf(target))
    );
    return [
      ...upward.map((target) => `${path} imports ${target}`),
      ...new Set(runtimeSpecificNames(path).map((name) => `${path} uses ${name}`)),
    ];
  });
  assertEquals(violations, []);
});

const LIBRARY = /^src\/(client|endpoint|odata|formats)\//;

/**
 * Returns the names that a file imports or re-exports from the library, such as
 * `src/client/query.ts Query`. The name is `*` for an import without braces.
 */
function libraryNames(path: string): string[] {
  const statements = codeOf(path).matchAll(/^(?:im|ex)port (?:type )?\{([^}]*)\} from "([^"]*)"/gm);
  const named = [...statements].flatMap(([, list, specifier]) => {
    const names = list!.split(",").map((name) => name.trim().replace(/^type | as .*$/g, ""));
    return names.filter((name) => name !== "").map((name) => ({
      target: resolve(path, specifier!),
      name,
    }));
  });
  const others = localImports(path).filter((target) =>
    named.every((name) => name.target !== target)
  )
    .map((target) => ({ target, name: "*" }));
  return [...named, ...others].filter(({ target }) => LIBRARY.test(target))
    .map(({ target, name }) => `${target} ${name}`);
}

/** Names that src/cli and edge share, although mod.ts does not export them, and the reason. */
const SHARED_NAMES: Record<string, string> = {
  // The table of formats: flags, URL extensions, content negotiation and buttons derive from it.
  "src/formats/formats.ts FORMATS": "table",
  "src/formats/formats.ts FORMAT_NAMES": "keys of FORMATS",
  "src/formats/formats.ts formatOfExtension": "lookup in FORMATS",
  "src/formats/formats.ts formatsOf": "lookup in FORMATS",
  "src/formats/formats.ts unknownFormat":
    "error for a flag or a URL parameter, with hints for synonyms",
  // The tables of the service.
  "src/odata/resources.ts MAXIMUM_TOP": "limit of flags, URL parameters and variables",
  "src/odata/resources.ts fieldNames": "lookup in RESOURCES",
  "src/odata/resources.ts isMeasured": "whose rows are cited",
  // The same input has the same meaning in a flag, a URL parameter and a form.
  "src/odata/bounding_box.ts parseBox": "parser of --bbox and of the parameter bbox",
  "src/odata/bounding_box.ts BOX_FORM": "messages about --bbox and the parameter bbox",
  "src/odata/bounding_box.ts BOX_EXAMPLE": "messages about --bbox and the parameter bbox",
  "src/odata/bounding_box.ts parseDegrees": "parser of the sides of a box in the form",
  "src/odata/clause.ts normalizeDoi": "form of a DOI in the record of a file",
  "src/odata/query_options.ts clausesOf": "clauses of a filter, for hints and the header link",
  "src/odata/query_options.ts toMetadataFilter": "checks a filter for citations before a request",
  "src/odata/query_options.ts toWiderMetadataFilter":
    "datasets whose versions --resume and ETag compare",
  "src/client/dataset_versions.ts requestDatasetVersions": "request for these versions",
  "src/client/dataset_versions.ts requestDatasets": "request for the datasets of a package",
  "src/formats/citations.ts versionsOf": "versions of the datasets in its response",
  "src/formats/citations.ts DatasetVersion": "result of that function",
  "src/formats/data_package.ts toDataPackage": "package of a file or a document",
  "src/formats/data_package.ts renamePackage": "package of a renamed file",
  "src/formats/data_package.ts PackageResource": "what verify compares with a file",
  "src/formats/data_package.ts PACKAGE_MEDIA_TYPE": "type of the package of a document",
  "src/odata/query_options.ts parseSelect": "columns of a document, for its package",
  "src/formats/data_package.ts DataPackage": "result of that function",
  "src/formats/page_writer.ts WriterState": "columns of a file, for its package",
  "src/formats/citations.ts citationsText": "citations on standard error",
  "src/formats/citations.ts CITATION_FORMATS": "formats of citations in both programs",
  // An empty result has the same explanation in both programs.
  "src/client/no_rows.ts describeUnusedUnits": "units that no row was converted to",
  "src/client/no_rows.ts explainNoRows": "explanation of an empty result",
  "src/client/no_rows.ts NoRowsReason": "result of that function",
  "src/client/no_rows.ts comparedFields":
    "fields that are requested to compare the values of a filter",
  "src/client/no_rows.ts unmatchedValues": "values of a filter that no row has",
  "src/odata/value_hints.ts KNOWN_VALUES": "table of the command values",
  // The types of a rate limiter, which ./deno-kv exports.
  "src/client/rate_limiter.ts Permit": "result of acquire()",
  "src/client/rate_limiter.ts PermitRefusal": "other result of acquire()",
  "src/client/rate_limiter.ts PermitRequest": "argument of acquire()",
  "src/client/rate_limiter.ts RateLimitTarget": "argument of penalize()",
  // The rate limiter, whose state is in a Durable Object and in Deno KV. The interface is public, its implementation is not.
  "src/client/rate_limiter.ts createLimiter": "rate limiter whose state is in a store",
  "src/client/rate_limiter.ts createPermitQueue": "queue of requests for a state in a store",
  "src/client/rate_limiter.ts NEW_STATE": "new state",
  "src/client/rate_limiter.ts LimiterState": "state of the rate limiter",
  "src/client/rate_limiter.ts PermitQueue": "messages to a Durable Object",
  "src/client/rate_limiter.ts Answer": "its answer",
  "src/client/shared_limiter.ts MAX_POLL_TIME": "maximum time until that answer",
  "src/client/shared_limiter.ts sendUntilAnswered":
    "sends messages to a rate limiter of several processes",
  // A function that the server wraps to count its requests.
  "src/client/options.ts defaultFetch": "default of the option fetch",
  // The server wraps the rate limiter of the process, so that requests of its page wait for few others.
  "src/client/rate_limiter.ts processLimiter": "default of the option rateLimiter",
  // Units have one form on the command line and in URLs.
  "src/formats/units.ts parseUnits": "parses units to convert to",
  // A summary is written in the same way by both programs.
  "src/client/summary.ts summaryCsv": "summary as CSV",
  "src/odata/resources.ts SUMMARY_KEYS": "values of --by",
  // The page reads citations with the rest of the datasets, in one request.
  "src/formats/citations.ts CITED_FIELDS": "fields of a citation",
  "src/formats/citations.ts toCitation": "citation of a row",
  // The page explains the fields with the meanings of data packages.
  "src/odata/field_meanings.ts meaningOf": "meaning of a field",
  // Formats of files and URLs. A program loads the code of Parquet when it needs it.
  "src/formats/formats.ts FileFormat": "name of a format",
  "src/formats/formats.ts LoadedFormat": "format of an entry point of its own",
  "src/formats/parquet.ts *": "code of Parquet, which the entry ./parquet exports",
  "src/formats/parquet.ts ParquetOptions": "options of Parquet, which the entry ./parquet exports",
  "src/formats/formats.ts withoutPageSize": "URL in the metadata of a Parquet file",
  // Functions of bytes.
  "src/formats/page_writer.ts concatBytes": "joins the parts of a page",
};

Deno.test("src/cli and edge import from the library only what mod.ts exports and the listed names", () => {
  const isPublic = new Set(libraryNames("mod.ts"));
  assert(isPublic.has("src/client/datastream.ts DataStream"));
  const imports = files.filter((path) => /^(src\/cli|edge)\//.test(path)).flatMap((path) =>
    libraryNames(path).map((name) => ({ path, name }))
  );
  const faults = imports.filter(({ name }) => !isPublic.has(name) && !(name in SHARED_NAMES));
  assertEquals(faults, []);
  const unneeded = Object.keys(SHARED_NAMES).filter((name) =>
    isPublic.has(name) || imports.every((found) => found.name !== name)
  );
  assertEquals(unneeded, []);
});

Deno.test("no imports form a cycle", () => {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, importers: string[]) => {
    const start = importers.indexOf(path);
    if (start >= 0) cycles.push([...importers.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const target of localImports(path)) visit(target, [...importers, path]);
    done.add(path);
  };
  for (const path of files) visit(path, []);
  assertEquals(cycles, []);
});

Deno.test("modules have no top-level await when an entry point imports them", () => {
  // `require()` cannot load such modules.
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const target of localImports(path)) visit(target);
  };
  for (const entry of Object.values(deno.exports)) visit(entry.slice(2));
  // In formatted code, only top-level statements start without indentation.
  assertEquals([...seen].filter((path) => /^(?:\S.*\b)?await\b/m.test(codeOf(path))), []);
});

Deno.test("unit tests import a helper that revokes permissions and fixes random numbers when they are not about the project", async () => {
  const tests = (await sourceFiles("tests/unit"))
    .filter((path) => path.endsWith("_test.ts") && !path.startsWith("tests/unit/project/"));
  const wrong = tests.filter((path) =>
    !importsOf(path).some((name) => /\/(no_permission|golden)\.ts$/.test(name))
  );
  assertEquals(wrong, []);
});

Deno.test("each test file begins with a comment that says what it promises", async () => {
  const tests = (await sourceFiles("tests")).filter((path) => path.endsWith("_test.ts"));
  const wrong = tests.filter((path) => !/^(?:\/\/ |\/\*\*)/.test(Deno.readTextFileSync(path)));
  assertEquals(wrong, []);
});

Deno.test("unit tests measure time only when their file is named linear_time_test.ts", async () => {
  // The gate runs these files one after another.
  const wrong = (await sourceFiles("tests/unit")).filter((path) =>
    !path.endsWith("/linear_time_test.ts") &&
    importsOf(path).some((name) => name.endsWith("/doubling.ts"))
  );
  assertEquals(wrong, []);
});
