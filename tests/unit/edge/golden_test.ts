// Responses of the app, compared with recorded files: the methods of every path, the refused parameters and requests,
// and the download of every resource in every format.
import { CITATION_PATHS } from "../../../edge/downloads/citations.ts";
import { PARAMETER_HINTS } from "../../../edge/http/parameters.ts";
import { type AppOptions, type EdgeApp, signUrl } from "../../../edge/app.ts";
import { FORMATS, formatsOf, RESOURCE_NAMES } from "../../helpers/resources.ts";
import { test } from "../../helpers/deadline.ts";
import { headLines, overSandbox, SECRET } from "../../helpers/edge.ts";
import { assertGolden } from "../../helpers/golden.ts";

const NOW = 1_800_000_000_000;
const token = "the-token-of-a-test";
const signed = {
  access: "signed",
  signingSecret: SECRET,
  tokens: [token],
  now: () => NOW,
} as const;

const PATHS = [
  "/",
  "/weir.css",
  "/weir.js",
  "/weir.svg",
  "/healthz",
  "/readyz",
  "/metrics",
  "/Citations.txt",
  "/Citations.json",
  "/Locations.datapackage.json",
  "/Locations",
  ...Object.keys(FORMATS).map((format) => `/Locations.${format}`),
  "/nothing",
];
const METHODS = ["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"];

const modes: [name: string, options: Partial<AppOptions>][] = [
  ["public", { access: "public" }],
  ["caller", { access: "caller" }],
  ["token", { ...signed, access: "token" }],
  ["signed", signed],
  ["signed without tokens", { ...signed, tokens: [] }],
];

test("EdgeApp.request() answers each method of each path with the recorded status and Allow", async () => {
  const lines: string[] = [];
  for (const [name, options] of [modes[0]!, modes.at(-1)!]) {
    lines.push(`# ${name}`, "");
    const { app } = overSandbox({ records: 3, locations: 3 }, options);
    for (const path of PATHS) {
      const cells: string[] = [];
      for (const method of METHODS) {
        const response = await app.request(path, { method });
        await response.body?.cancel();
        const allow = response.headers.get("allow");
        cells.push(`${method} ${response.status}${allow === null ? "" : ` (${allow})`}`);
      }
      lines.push(`${path}: ${cells.join("; ")}`);
    }
    lines.push("");
  }
  await assertGolden(lines.join("\n"), "edge/methods.txt");
});

async function problemLine(request: string, response: Response): Promise<string> {
  const { type, status, title, detail, hint, ...rest } = await response.json();
  const others = JSON.stringify({ ...rest, ...(type !== "about:blank" && { type }) });
  const authenticate = response.headers.get("www-authenticate");
  return `${request}\n  ${status} ${title} | ${detail.replace(/\d\d:\d\d UTC/, "(time)")} | ${
    hint ?? "(no hint)"
  }` +
    (others === "{}" ? "" : ` | ${others}`) +
    (authenticate === null ? "" : ` | www-authenticate: ${authenticate}`);
}

/** Returns the problems of the requests that are refused; `HEAD` finds those that are not. */
async function refusals(app: EdgeApp, requests: Iterable<string>): Promise<string[]> {
  const lines: string[] = [];
  for (const path of requests) {
    const { status } = await app.request(path, { method: "HEAD" });
    if (status >= 400) lines.push(await problemLine(path, await app.request(path)));
  }
  return lines;
}

/** Values of each option: the first is valid for records, and others are refused for some resource or format. */
const VALUES: Record<string, string[]> = {
  $select: ["Id", "", ",", "Idd", "Id,DOI,Id", "Latitude", "id"],
  $filter: ["DOI eq '10.25976/weir-aa00'", "", "DOI eq", "Doi eq 'x'", "Name eq 'x'"],
  $top: ["5", "0", "10000", "10001", "1e3"],
  $skiptoken: ["Id:5", "", "5", "Id:-1"],
  $count: ["true", "0", "yes"],
  $format: ["json", "CSV", "application/geo+json", "", "jsonl", "excel", "cvs"],
  limit: ["3", "0", "-1", "9999999999999999"],
  bbox: ["-64,46,-62,47", "1,2,3", "-62,46,-64,47", "-64,46,-62,97", "1".repeat(100)],
  separator: [";", "tab", "", "ab", '"'],
  bom: ["true", "", "yes"],
  header: ["false", "no"],
  escapeFormulas: ["true", "2"],
  allowInvalid: ["true", "2"],
  filename: ["lakes", "...", "x".repeat(1_001)],
};
const OTHERS = ["$banana", "select", "Limit", "API_KEY", "constructor", "signature", ""];
const UNKNOWN = [...PARAMETER_HINTS.keys(), ...OTHERS].map((name) => `${name}=1`);
const pairOf = (name: string, value: string) => `${name}=${encodeURIComponent(value)}`;
const first = Object.entries(VALUES).map(([name, values]) => pairOf(name, values[0]!));

test("EdgeApp.request() refuses query options with the recorded problems", async () => {
  const { app } = overSandbox({ records: 3 });
  const queries = Object.entries(VALUES).flatMap(([name, values]) =>
    values.map((value) => pairOf(name, value))
  );
  const requests = [
    ...[...queries, ...UNKNOWN].map((query) => `/Records.csv?${query}`),
    ...VALUES.$filter!.map((value) => `/Locations?${pairOf("$filter", value)}`),
    ...first.map((query) => `/Locations.geojson?${query}`),
    ...[...first, pairOf("bbox", "1,2")].map((query) => `/Citations.txt?${query}`),
    ...[...VALUES.$format!, "geojson"].map((value) => `/Records?${pairOf("$format", value)}`),
    "/Records?$format=json&separator=tab",
    "/Locations?$count=true&limit=3",
    "/Records?$count=true&$skiptoken=Id:5",
    "/Locations?$skiptoken=Id:5&bbox=-64,46,-62,47",
    "/Records.csv?$skiptoken=Id:5&bbox=-64,46,-62,47",
    "/Records.csv?$top=2000&%24top=2000",
    "/Records.datapackage.json?$count=true",
    "/Records.datapackage.json?$format=xml",
  ];
  const lines = await refusals(app, new Set(requests));
  await assertGolden(lines.join("\n") + "\n", "edge/refused_options.txt");
});

test("EdgeApp.request() refuses callers, formats and paths with the recorded problems", async () => {
  const lines: string[] = [];
  const add = async (app: EdgeApp, path: string, headers: Record<string, string> = {}) => {
    const shown = Object.entries(headers).map(([name, value]) => ` (${name}: ${value})`).join("");
    lines.push(await problemLine(path + shown, await app.request(path, { headers })));
  };
  const appOf = (options: Partial<AppOptions>) => overSandbox({ records: 3 }, options).app;
  for (const accept of ["text/html", "image/png, text/csv;q=0"]) {
    await add(appOf({}), "/Records", { accept });
    await add(appOf({}), "/Locations", { accept });
  }
  for (const path of ["/Records.csv", "/Citations.txt"]) {
    const caller = appOf({ access: "caller" });
    await add(caller, path);
    for (const key of ["wrong", "not a key"]) await add(caller, path, { "x-api-key": key });
    const tokens = appOf({ ...signed, access: "token" });
    await add(tokens, path);
    for (const authorization of ["Bearer", "Basic x", `Bearer ${token}x`]) {
      await add(tokens, path, { authorization });
    }
    const url = `http://localhost${path}?$filter=DOI eq 'x'`;
    const good = await signUrl(url, { secret: SECRET, expires: NOW / 1000 + 60 });
    const expired = await signUrl(url, { secret: SECRET, expires: NOW / 1000 - 60 });
    for (
      const changed of [url, expired, `${good}0`, good.replace("DOI", "doi"), `${url}&expires=1`]
    ) {
      await add(appOf(signed), changed.replace("http://localhost", ""));
    }
  }
  await add(appOf({ ...signed, tokens: [] }), "/Records.csv");
  const paths = [
    "/records.csv",
    "/Records.csv/",
    "/Records.ods",
    "/Records.geojson",
    "/Records/$count",
    "/v1/odata/v4/Records",
    "/v1/odata/v4/Records/%24count",
    "/banana/$count",
    "/citations/",
    "/Citation.txt",
    "/index.html",
    "/banana",
    "/a%0Ab",
  ];
  for (const path of paths) await add(appOf({}), path);
  await add(appOf({ maxRows: 2 }), "/Records.csv");
  await assertGolden(lines.join("\n") + "\n", "edge/refused_requests.txt");
});

/** Shows a byte order mark and carriage returns. */
const visible = (text: string) => text.replaceAll("\ufeff", "<BOM>").replaceAll("\r", "<CR>");
const textOf = async (response: Response) =>
  visible(new TextDecoder("utf-8", { ignoreBOM: true }).decode(await response.arrayBuffer()));

test("EdgeApp.request() answers downloads as recorded", async () => {
  const { app } = overSandbox({ records: 6, locations: 3 });
  const plain = await app.request("/healthz");
  const common = headLines(plain).filter((line) => !/^(\d|cache-control|content-type)/.test(line));
  const lines = ["# Headers of each response", "", ...common, ""];
  const bodies = new Map<string, string>();
  const add = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = await app.request(path, { method, headers });
    lines.push(`# ${method} ${path}`);
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    lines.push("", ...headLines(response).filter((line) => !common.includes(line)));
    lines.push(
      ...common.filter((line) => !headLines(response).includes(line)).map((line) => `- ${line}`),
    );
    const text = await textOf(response);
    const same = bodies.get(text);
    lines.push("", same === undefined || text.length < 200 ? text : `(body of ${same})`);
    if (text !== "" && same === undefined) bodies.set(text, path);
  };
  for (const name of RESOURCE_NAMES) {
    for (const format of formatsOf(name)) await add(`/${name}.${format}?limit=2`);
  }
  await add("/Records?limit=2");
  await add("/Records?$count=true");
  await add("/Records.csv?$filter=DOI eq '10.25976/none'");
  await add("/Records.csv?limit=2", {}, "HEAD");
  for (const method of ["GET", "HEAD"]) {
    await add("/Records?limit=1", { "if-none-match": "*" }, method);
  }
  const queries = [
    "bom=0&header=false&separator=;",
    "bom=1&separator=tab&header=true&escapeFormulas=1&filename=Rivière.tsv&limit=4",
    "$filter=DOI in ('10.25976/weir-bb00')",
  ];
  for (const query of queries) await add(`/Metadata.csv?$select=DOI,DatasetName&${query}`);
  await add("/Observations.ndjson?$select=Id,LocationId&$skiptoken=Id:2&limit=3");
  await add("/Records.ndjson?$select=Id,DOI&bbox=-180,-90,180,90");
  for (const path of CITATION_PATHS) await add(`${path}?$filter=DOI eq '10.25976/weir-bb00'`);
  await add(
    "/Summary.csv?$filter=CharacteristicName eq 'pH'&by=dataset&excludeQualityControl=true",
  );
  await add("/Summary.csv?$filter=DOI eq '10.1/x'&by=year");
  for (const path of ["/healthz", "/nothing", "/Records.csv?x=1"]) await add(path);
  await assertGolden(lines.join("\n") + "\n", "edge/downloads.txt");
});

test("EdgeApp.request() answers with the recorded headers of caching and access in each access mode", async () => {
  const lines: string[] = [];
  const add = (name: string, response: Response) => {
    const shown = headLines(response).filter((line) => /^(\d|access|cache|vary|x-weir)/.test(line));
    lines.push(`# ${name}`, "", ...shown, "");
  };
  const corsOrigins = ["https://a.example"];
  const origin = corsOrigins[0]!;
  const headers = { "x-api-key": "sandbox", authorization: `Bearer ${token}`, origin };
  const path = "http://localhost/Records?limit=1";
  const url = await signUrl(path, { secret: SECRET, expires: NOW / 1000 + 60 });
  for (const [name, options] of [...modes, ["synthetic", { synthetic: true }] as const]) {
    for (const address of options.access === "signed" ? [url] : [path, "/Citations.txt"]) {
      const { app } = overSandbox({ records: 3 }, { corsOrigins, ...options });
      const response = await app.request(address, { headers });
      await response.body?.cancel();
      add(address === "/Citations.txt" ? `${name}, ${address}` : name, response);
    }
  }
  const { app } = overSandbox({}, { corsOrigins });
  const other = { origin: `${origin}.evil` };
  add("Another origin", await app.request("/healthz", { headers: other }));
  const preflight = { origin, "access-control-request-method": "GET" };
  add("Preflight", await app.request(path, { method: "OPTIONS", headers: preflight }));
  await assertGolden(lines.join("\n"), "edge/headers.txt");
});
