// Programs read the same rows from the URL of a document as from a file: by its length and ranges, or by one request; they
// continue a cut file, and do not fetch it again while nothing is new.
import { assert, assertEquals } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { runProgramWith } from "../../helpers/programs.ts";
import { testNeeding } from "../needs.ts";

interface ServedApp extends AsyncDisposable {
  root: string;
  folder: string;
  /** Method and status of each request for a document since the last call. */
  requests(): string[];
}

/** Serves an app over a sandbox, and creates a folder for files. */
async function serveApp(): Promise<ServedApp> {
  const { apiKey, url, fetch } = createSandbox({ records: 12_000, requestsPerSecond: Infinity });
  const app = createApp({
    access: "public",
    apiKey,
    baseUrl: url,
    fetch,
    requestsPerSecond: Infinity,
    log: () => {},
  });
  const folder = await Deno.makeTempDir({ prefix: "weir-readers-" });
  const requests: string[] = [];
  const listen = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(listen, async (request, info) => {
    const response = await app.fetch(request, info);
    // GDAL also looks for files with other extensions and for the folder.
    if (new URL(request.url).pathname !== "/" && response.status < 400) {
      requests.push(`${request.method} ${response.status}`);
    }
    return response;
  });
  return {
    root: `http://127.0.0.1:${server.addr.port}`,
    folder,
    requests: () => requests.splice(0),
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

type Command = [program: string, ...args: string[]];

interface UrlReader {
  name: string;
  /** Whether it is installed. */
  check: Command;
  path: string;
  /** Whether it needs a document that is in the memory of the server. */
  isFetchedBefore?: boolean;
  /** Prints the Ids of the rows, one in each line. */
  read(url: string): Command;
  requests: string[];
}

const gdal: Command = ["ogr2ogr", "--version"];
const inGdal = (source: string, ...layers: string[]): Command => [
  "ogr2ogr",
  ...["-f", "CSV", "/vsistdout/", source, ...layers, "-select", "Id"],
];
// Debian's, whose packages are built for Debian's version of NumPy.
const python = "/usr/bin/python3";
const polars: Command = ["node", "-e", 'require("nodejs-polars")'];
const inPolars = (expression: string): Command => [
  "node",
  "-e",
  `const polars = require("nodejs-polars");
  const pl = polars.default ?? polars;
  ${expression}.collect().then((rows) => console.log([...rows.getColumn("Id")].join("\\n")));`,
];
const BY_RANGES = ["HEAD 200", "GET 206"];

const READERS: UrlReader[] = [
  {
    name: "GDAL, /vsicurl/",
    check: gdal,
    path: "/Locations.geojson",
    read: (url) => inGdal(`/vsicurl/${url}`),
    requests: BY_RANGES,
  },
  {
    name: "GDAL",
    check: gdal,
    path: "/Locations.geojson",
    read: (url) => inGdal(url),
    requests: ["GET 200"],
  },
  {
    name: "GDAL, /vsicurl/ after another request,",
    check: gdal,
    path: "/Locations.csv",
    isFetchedBefore: true,
    read: (url) => inGdal(`CSV:/vsicurl/${url}`),
    requests: BY_RANGES,
  },
  {
    name: "GDAL, /vsicurl/",
    check: gdal,
    path: "/Locations.xlsx",
    read: (url) => inGdal(`/vsicurl/${url}`, "Data"),
    requests: BY_RANGES,
  },
  {
    name: "geopandas",
    check: [python, "-c", "import geopandas"],
    path: "/Locations.geojson",
    read: (url) => [
      python,
      ...["-W", "ignore", "-c"],
      `import geopandas; print(*geopandas.read_file("${url}").Id, sep="\\n")`,
    ],
    requests: ["GET 200"],
  },
  {
    name: "scanParquet() of Polars",
    check: polars,
    // Two pages.
    path: "/Records.parquet",
    read: (url) => inPolars(`pl.scanParquet("${url}").select("Id")`),
    requests: BY_RANGES,
  },
  {
    name: "scanCSV() of Polars after another request",
    check: polars,
    path: "/Locations.csv",
    isFetchedBefore: true,
    read: (url) => inPolars(`pl.scanCSV("${url}").select("Id")`),
    requests: BY_RANGES,
  },
];

const isInstalled = async ([program, ...args]: Command): Promise<boolean> =>
  (await runProgramWith({ env: { PYTHONPATH: "" } }, program, ...args))?.success === true;

for (const { name, check, path, isFetchedBefore, read, requests } of READERS) {
  const needs = { [name]: await isInstalled(check) };
  testNeeding(needs, `${name} reads ${path} by ${requests.join(" and ")}`, async () => {
    await using app = await serveApp();
    const url = app.root + path;
    if (isFetchedBefore) await (await fetch(url)).text();
    app.requests();
    const [program, ...args] = read(url);
    const result = await runProgramWith({ env: { PYTHONPATH: "" } }, program, ...args);
    assert(result?.success, result?.stderr);
    // Readers of ranges can repeat one of the requests.
    assertEquals([...new Set(app.requests())], requests);
    const csv = await (await fetch(`${app.root}${path.split(".")[0]}.csv`)).text();
    const [names, ...rows] = readCsv(csv);
    const ids = rows.map((row) => row[names!.indexOf("Id")]!);
    assertEquals(result.stdout.match(/\d+/g), ids);
  });
}

const hasCurl = await isInstalled(["curl", "--version"]);
const hasWget = await isInstalled(["wget", "--version"]);

const CONTINUING: [name: string, needs: boolean, options: string[]][] = [
  ["curl", hasCurl, ["--silent", "--fail", "--continue-at", "-", "--remote-name"]],
  ["wget", hasWget, ["--quiet", "--continue"]],
];
for (const [program, isThere, options] of CONTINUING) {
  testNeeding(
    { [program]: isThere },
    `${program} continues a cut file with the bytes that it lacks`,
    async () => {
      await using app = await serveApp();
      const url = `${app.root}/Records.csv`;
      const text = await (await fetch(url)).text();
      app.requests();
      const file = `${app.folder}/Records.csv`;
      await Deno.writeTextFile(file, text.slice(0, 100_000));
      const result = await runProgramWith({ cwd: app.folder }, program, ...options, url);
      assert(result?.success, result?.stderr);
      assertEquals(app.requests(), ["GET 206"]);
      assert(await Deno.readTextFile(file) === text);
    },
  );
}

testNeeding(
  { wget: hasWget },
  "wget --timestamping fetches a file again only if something is new",
  async () => {
    await using app = await serveApp();
    const run = async () => {
      const url = `${app.root}/Locations.csv`;
      const options = { cwd: app.folder };
      const result = await runProgramWith(options, "wget", "--quiet", "--timestamping", url);
      assert(result?.success, result?.stderr);
      return app.requests();
    };
    const file = `${app.folder}/Locations.csv`;
    assertEquals(await run(), ["GET 200"]);
    const text = await Deno.readTextFile(file);
    assertEquals(await run(), ["GET 304"]);
    // Older than the latest publication of the sandbox.
    await Deno.utime(file, 0, 1_500_000_000);
    assertEquals(await run(), ["GET 200"]);
    assertEquals(await Deno.readTextFile(file), text);
    assertEquals(await run(), ["GET 304"]);
  },
);
