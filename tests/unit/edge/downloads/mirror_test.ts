// The files of a mirror are served by ranges and versions, only those of its manifest, and without DataStream or a key.
import "../../../helpers/no_permission.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { type AppOptions, createApp, signUrl } from "../../../../edge/app.ts";
import { ValidationError } from "../../../../mod.ts";
import { problemOf, SECRET } from "../../../helpers/edge.ts";
import { FakeClock } from "../../../helpers/fake_clock.ts";
import {
  digestOf,
  DOI,
  manifestOf,
  type MemoryMirror,
  memoryMirror,
  type MirrorTexts,
  OBSERVATIONS,
} from "../../../helpers/mirror.ts";

// Loaded here, because a fake clock does not wait for the import by the first request.
import "../../../../edge/page/page.ts";

const TEXT = "0123456789".repeat(30_000);
const FILES: MirrorTexts = { [OBSERVATIONS]: TEXT, "datasets.csv": "DOI\n" };

async function sync(mirror: MemoryMirror, texts: MirrorTexts): Promise<void> {
  for (const [path, text] of Object.entries(texts)) mirror.put(path, text);
  mirror.put("datapackage.json", await manifestOf(texts));
}

async function serve(options: Partial<AppOptions> = {}, texts: MirrorTexts = FILES) {
  const mirror = memoryMirror();
  await sync(mirror, texts);
  const log: string[] = [];
  const clock = new FakeClock();
  const app = createApp({
    access: "public",
    mirror: mirror.folder,
    fetch: () => {
      throw new Error("a request of DataStream");
    },
    clock,
    log: (line) => log.push(line),
    ...options,
  });
  const get = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    await app.request(path, { headers, method });
  return { app, get, mirror, log, clock };
}

const versionOf = async (text: string) => (await digestOf(text)).slice(0, 16);
const urlOf = async (text = TEXT) => `/mirror/${OBSERVATIONS}?version=${await versionOf(text)}`;

Deno.test("createApp() serves a file of the mirror whole and by ranges, with validators and CORS", async () => {
  const { get, mirror } = await serve();
  const etag = `"${await digestOf(TEXT)}"`;
  const whole = await get(await urlOf());
  assertEquals([whole.status, await whole.text()], [200, TEXT]);
  const expected = {
    "content-type": "application/vnd.apache.parquet",
    "content-length": "300000",
    etag,
    "last-modified": "Sat, 28 Nov 2026 00:00:00 GMT",
    "accept-ranges": "bytes",
    "cache-control": "public, max-age=86400, no-transform",
    "access-control-allow-origin": "*",
  };
  for (const [name, value] of Object.entries(expected)) {
    assertEquals(whole.headers.get(name), value, name);
  }
  const exposed = whole.headers.get("access-control-expose-headers")!.split(",");
  for (const name of ["etag", "content-range", "accept-ranges"]) {
    assert(exposed.includes(name), name);
  }

  const head = await get(await urlOf(), {}, "HEAD");
  assertEquals([head.status, head.headers.get("content-length")], [200, "300000"]);
  assertEquals(await head.text(), "");

  const parts: [range: string, start: number, end: number][] = [
    ["bytes=-8", 299_992, 300_000],
    ["bytes=65536-265537", 65_536, 265_538],
  ];
  for (const [range, start, end] of parts) {
    const part = await get(await urlOf(), { range, "if-range": etag });
    assertEquals([part.status, await part.text()], [206, TEXT.slice(start, end)]);
    assertEquals(part.headers.get("content-range"), `bytes ${start}-${end - 1}/300000`);
    assertEquals(part.headers.get("content-length"), String(end - start));
  }
  const none = await get(await urlOf(), { range: "bytes=300000-" });
  assertEquals([none.status, none.headers.get("content-range")], [416, "bytes */300000"]);
  assertStringIncludes((await problemOf(none)).detail, OBSERVATIONS);
  assertEquals((await get(await urlOf(), { "if-none-match": etag })).status, 304);
  assertEquals((await get(await urlOf(), { "if-match": '"other"' })).status, 412);
  const current = await get("/mirror/datasets.csv");
  assertEquals(
    [await current.text(), current.headers.get("content-type")],
    ["DOI\n", "text/csv; charset=utf-8"],
  );
  assertEquals(current.headers.get("cache-control"), "public, max-age=0, no-transform");
  assertEquals(mirror.open(), 0);
});

Deno.test("createApp() never mixes two versions of a file: an open one stays, an old URL gets 410, and one between two manifests 503", async () => {
  const { get, mirror } = await serve();
  const old = await urlOf();
  const response = await get(old);
  // Of the same length, so that only its time and hash tell that it is another one.
  const other = TEXT.replaceAll("9", "8");
  mirror.put(OBSERVATIONS, other);
  const between = await get(old);
  assertEquals([between.status, between.headers.get("retry-after")], [503, "30"]);
  assertStringIncludes((await problemOf(between)).detail, "is being replaced");
  assertEquals((await get(`/mirror/${OBSERVATIONS}`)).status, 503);
  mirror.put("datapackage.json", await manifestOf({ ...FILES, [OBSERVATIONS]: other }));
  assertEquals(await response.text(), TEXT);
  const gone = await get(old);
  assertEquals(gone.status, 410);
  assertStringIncludes((await problemOf(gone)).hint, "read the list /mirror.json again");
  assertEquals(await (await get(await urlOf(other))).text(), other);
  assertEquals(await (await get(`/mirror/${OBSERVATIONS}`)).text(), other);
  mirror.remove(OBSERVATIONS);
  assertEquals((await get(`/mirror/${OBSERVATIONS}`)).status, 503);
  assertEquals(mirror.open(), 0);
});

Deno.test("createApp() compares a file that is newer than the manifest with its hash, once", async () => {
  const { get, mirror } = await serve();
  // As after a copy of the folder in another order.
  mirror.put(OBSERVATIONS, TEXT);
  assertEquals(await (await get(await urlOf())).text(), TEXT);
  mirror.put(OBSERVATIONS, `${TEXT}0`);
  assertEquals((await get(await urlOf())).status, 503);
  // Of another size than the manifest says, although it is older.
  mirror.put("datapackage.json", await manifestOf(FILES));
  assertEquals((await get(await urlOf())).status, 503);
});

const OUTSIDE = [
  ".weir/state.json",
  "datapackage.json",
  "CITATIONS.txt",
  "..%2fsecret",
  "%2e%2e/secret",
  "%2e%2e%5csecret",
  "observations%2f..%2f..%2fsecret",
  "observations\\..\\secret",
  "./datasets.csv",
  "/datasets.csv",
  "datasets.csv/",
  "DATASETS.CSV",
  "%ff",
  "%",
  "%00",
];
Deno.test("createApp() opens no file that the manifest does not list", async () => {
  const { get, mirror } = await serve();
  await get("/mirror.json");
  mirror.opened.length = 0;
  for (const path of OUTSIDE) {
    const response = await get(`/mirror/${path}`);
    // A URL with such a path is resolved before it is sent.
    const isResolved = path === "./datasets.csv";
    assertEquals([path, response.status], [path, isResolved ? 200 : 404]);
    await response.text();
  }
  const opened = mirror.opened.filter((path) => path !== "datapackage.json");
  assertEquals(opened, ["datasets.csv"]);
});

const MANIFESTS: [manifest: string, line: string][] = [
  ["{", "it is not JSON"],
  ["[]", "it has version undefined of the schema"],
  [
    await manifestOf({}, { mirror: 2 }),
    "it has version 2 of the schema, and this version of Weir reads 1",
  ],
  ...await Promise.all(
    ["../secret", "/etc/passwd", ".weir/lock", "a/../b", "a\\b", "C:/b", "a//b", ""].map(async (
      path,
    ) =>
      [
        await manifestOf({ [path]: "x" }),
        `the resource ${JSON.stringify(path)} needs a path in`,
      ] as [
        string,
        string,
      ]
    ),
  ),
];
Deno.test("createApp() answers 503 and logs the reason when the manifest is missing, damaged or of another version", async () => {
  const { get, mirror, log } = await serve();
  for (const [manifest, line] of MANIFESTS) {
    mirror.put("datapackage.json", manifest);
    const response = await get("/mirror.json");
    assertEquals(response.status, 503);
    assertEquals((await problemOf(response)).detail, "The mirror cannot be read");
    assertStringIncludes(log.at(-1)!, `datapackage.json of the mirror: ${line}`);
  }
  mirror.remove("datapackage.json");
  for (const path of ["/mirror.json", "/readyz", `/mirror/${OBSERVATIONS}`]) {
    const response = await get(path);
    assertEquals(response.status, 503);
    assertStringIncludes((await problemOf(response)).detail, "has no files yet");
  }
  await sync(mirror, FILES);
  assertEquals((await get("/readyz")).status, 200);
  assertEquals(mirror.open(), 0);
});

Deno.test("createApp() lists the files of the mirror with URLs of their versions, as JSON and as a page", async () => {
  const { get } = await serve();
  const json = await (await get("/mirror.json", {
    "x-forwarded-host": "weir.example",
    "x-forwarded-proto": "https",
  }))
    .json();
  assertEquals([json.title, json.created], ["Mirror of a test", "2026-11-28T00:00:00.000Z"]);
  assertEquals(json.files[0], {
    name: "observations-10.25976-0gvo-9d12",
    path: OBSERVATIONS,
    bytes: 300_000,
    rows: 10,
    dataset: DOI,
    version: "1.0.0",
    published: "2026-01-01T00:00:00Z",
    hash: `sha256:${await digestOf(TEXT)}`,
    url: `https://weir.example${await urlOf()}`,
  });
  assertEquals(json.files[1].path, "datasets.csv");
  assertEquals("dataset" in json.files[1], false);
  for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.5"]) {
    assertEquals((await (await get("/mirror/", { accept })).json()).files.length, 2);
  }
  const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  for (
    const [language, words] of [["en", ["Files", "10 rows"]], ["fr", [
      "Fichiers",
      "10 lignes",
    ]]] as const
  ) {
    const page = await (await get(`/mirror/?lang=${language}`, browser)).text();
    for (const text of [...words, await urlOf(), DOI, "1.0.0, 2026-01-01"]) {
      assertStringIncludes(page, text);
    }
  }
  const main = await (await get("/fields", browser)).text();
  assertStringIncludes(main, '<a href="/mirror/?lang=en">Files</a>');
});

Deno.test("createApp() serves a mirror without a key, and says that downloads need one", async () => {
  const { get, log } = await serve();
  assertEquals((await get("/readyz")).status, 200);
  for (
    const path of [
      "/Records.csv",
      "/Records?$count=true",
      "/Citations.txt",
      "/Summary.csv",
      "/Records.datapackage.json",
    ]
  ) {
    const response = await get(path);
    assertEquals(response.status, 503);
    assertStringIncludes((await problemOf(response)).detail, "has no API key of DataStream");
  }
  const page = await get("/");
  assertEquals(page.status, 503);
  assertStringIncludes(await page.text(), "has no API key of DataStream");
  assertEquals(log, []);
  const options = { access: "public" } as const;
  assertThrows(() => createApp(options), ValidationError, "apiKey must be set");
  assertThrows(
    () => createApp({ ...options, mirror: "" }),
    ValidationError,
    "mirror must be the path",
  );
  const other = { open: 1 } as unknown as AppOptions["mirror"];
  assertThrows(
    () => createApp({ ...options, mirror: other }),
    ValidationError,
    "mirror must be the path",
  );
});

Deno.test("createApp() without a mirror has no path of it", async () => {
  const { get } = await serve({ mirror: undefined, apiKey: "key" });
  for (const path of ["/mirror/", "/mirror.json", `/mirror/${OBSERVATIONS}`]) {
    assertEquals((await get(path)).status, 404);
  }
  assertEquals((await (await get("/fields")).text()).includes("/mirror/"), false);
});

Deno.test("createApp() gives files of the mirror to those who may download", async () => {
  const token = "a-token-of-a-test-1234";
  const modes: [options: Partial<AppOptions>, headers: Record<string, string>, status: number][] = [
    [{ access: "token", tokens: [token] }, { authorization: `Bearer ${token}` }, 401],
    [{ access: "caller" }, { "x-api-key": "key" }, 401],
    [{ access: "signed", signingSecret: SECRET }, {}, 403],
  ];
  for (const [options, headers, status] of modes) {
    const { get } = await serve({ ...options, now: () => Date.UTC(2026, 10, 28) });
    for (const path of ["/mirror.json", "/mirror/", await urlOf()]) {
      assertEquals((await get(path)).status, status, path);
    }
    const expires = new Date(Date.UTC(2026, 10, 29));
    const list = options.access === "signed"
      ? await signUrl("http://localhost/mirror.json", { secret: SECRET, expires })
      : "/mirror.json";
    const { files: [{ url }] } = await (await get(list, headers)).json();
    const file = await get(url, headers);
    assertEquals([file.status, await file.text()], [200, TEXT]);
    assertStringIncludes(file.headers.get("cache-control")!, "no-store");
  }
  const page = { accept: "text/html", authorization: `Bearer ${token}` };
  const { get } = await serve({ access: "token", tokens: [token] });
  assertStringIncludes(await (await get("/mirror/", page)).text(), "in the header authorization");
  assertEquals((await get("/mirror/", { accept: "text/html" })).status, 401);
});

Deno.test("createApp() limits the open files of each client, disconnects one that reads nothing, and closes all files", async () => {
  const { app, get, mirror, clock, log } = await serve({
    maxDownloadsPerClient: 1,
    readerTimeout: 30_000,
    clientAddressHeader: "x-client",
    logRequests: true,
  });
  const [one, other] = [{ "x-client": "192.0.2.1" }, { "x-client": "192.0.2.2" }];
  const first = await get(await urlOf(), one);
  const reader = first.body!.getReader();
  await reader.read();
  let refused: Response | undefined;
  const waiting = get(await urlOf(), one).then((response) => refused = response);
  assertEquals(await (await get(await urlOf(), other)).text(), TEXT);
  await clock.sleep(20_000);
  assertEquals([refused, mirror.open()], [undefined, 1]);
  await clock.sleep(12_000);
  await assertRejects(() => reader.read(), Error, "was interrupted");
  const second = await waiting;
  assertEquals([second.status, mirror.open()], [200, 1]);
  await second.body!.cancel();
  await clock.sleep(1);
  assertEquals(mirror.open(), 0);
  const line = `GET /mirror/:path 200`;
  assertEquals(log.filter((text) => text.includes(`${line} disconnected`)).length, 1);
  assertEquals(log.filter((text) => text.includes(`${line} aborted`)).length, 1);
  const complete = log.find((text) => text.includes(`${line} complete: 0 rows, 300000 bytes`))!;
  assertStringIncludes(complete, `query "file=${OBSERVATIONS}&version=${await versionOf(TEXT)}"`);
  assertStringIncludes(app.metrics(), 'weir_response_bytes_total{route="/mirror/:path"} ');
});

Deno.test("createApp() refuses unknown and repeated parameters of a file", async () => {
  const { get } = await serve();
  for (const query of ["versions=1", "version=1&version=1", "version="]) {
    assertEquals((await get(`/mirror/datasets.csv?${query}`)).status, 400);
  }
  assertEquals((await get("/mirror/datasets.csv", {}, "PUT")).status, 405);
});
