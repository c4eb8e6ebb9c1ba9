// weir serve sends the files of a mirror from the disk, in Deno, Node and Bun: hyparquet reads columns from a URL, an open
// response keeps its version when the file is replaced, and symbolic links lead nowhere.
import { assert, assertEquals } from "@std/assert";
import { asyncBufferFromUrl, parquetReadObjects } from "hyparquet";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { DataStream } from "../../../mod.ts";
import { toParquet } from "../../../src/formats/parquet.ts";
import { manifestOf, OBSERVATIONS, writeMirror } from "../../helpers/mirror.ts";
import { COMMAND_LINES, type ServerProgram, startProgram, testPrograms } from "./runtimes.ts";

const SECRET = "secret of another folder";

interface ServedMirror extends AsyncDisposable {
  folder: string;
  root: string;
  /** URL of a file of the list. */
  urlOf(path: string): Promise<string>;
}

/** Starts a server without an API key. */
async function serveMirror(
  program: ServerProgram,
  texts: Record<string, string>,
): Promise<ServedMirror> {
  const folder = await Deno.makeTempDir({ prefix: "weir-mirror-" });
  await writeMirror(folder, texts);
  const environment = { WEIR_ACCESS: "public", WEIR_MIRROR: folder, DATASTREAM_API_KEY: "" };
  const server = await startProgram(program, environment);
  return {
    folder,
    root: server.root,
    async urlOf(path) {
      const { files } = await (await fetch(`${server.root}/mirror.json`)).json();
      return files.find((file: { path: string }) => file.path === path).url;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function parquetFile(): Promise<Uint8Array<ArrayBuffer>> {
  const { apiKey, url, fetch } = createSandbox({ requestsPerSecond: Infinity });
  const client = new DataStream({ apiKey, baseUrl: url, fetch, requestsPerSecond: Infinity });
  return await new Response(toParquet(client.observations({ limit: 20_000 }))).bytes();
}

testPrograms(
  COMMAND_LINES,
  "serves a Parquet file of the mirror, of which hyparquet reads a column by ranges",
  async (program) => {
    const bytes = await parquetFile();
    // Bun sends a stream, and the answer to HEAD, without a length.
    const lengthOf = (length: number) => program.name.includes("Bun") ? null : String(length);
    await using mirror = await serveMirror(program, {});
    const path = "observations/a.parquet";
    await Deno.mkdir(`${mirror.folder}/observations`);
    await Deno.writeFile(`${mirror.folder}/${path}`, bytes);
    const manifest = JSON.parse(await manifestOf({ [path]: "" }));
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    Object.assign(manifest.resources[0], { bytes: bytes.length, hash: `sha256:${hash}` });
    await Deno.writeTextFile(`${mirror.folder}/datapackage.json`, JSON.stringify(manifest));

    const url = await mirror.urlOf(path);
    let received = 0;
    const counting = async (...[input, init]: Parameters<typeof fetch>) => {
      const response = await fetch(input, init);
      if (init?.method !== "HEAD") {
        assertEquals(response.status, 206);
        received += Number(response.headers.get("content-length"));
      }
      return response;
    };
    const file = await asyncBufferFromUrl({ url, fetch: counting });
    assertEquals(file.byteLength, bytes.length);
    const columns = ["CharacteristicName"];
    const rows = await parquetReadObjects({ file, columns });
    assertEquals(rows, await parquetReadObjects({ file: bytes.buffer, columns }));
    // hyparquet requests at least the last 512 KiB.
    assert(received < bytes.length + 600_000, `${received} of ${bytes.length} bytes`);

    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += 300_000) {
      const end = Math.min(bytes.length, at + 300_000);
      const response = await fetch(url, { headers: { range: `bytes=${at}-${end - 1}` } });
      assertEquals(
        [response.status, response.headers.get("content-range")],
        [206, `bytes ${at}-${end - 1}/${bytes.length}`],
      );
      assertEquals(response.headers.get("content-length"), lengthOf(end - at));
      pieces.push(await response.bytes());
    }
    assertEquals(await new Blob(pieces as BlobPart[]).bytes(), bytes);
    const head = await fetch(url, { method: "HEAD" });
    assertEquals(
      ["content-length", "accept-ranges", "etag"].map((name) => head.headers.get(name)),
      [lengthOf(bytes.length), "bytes", `"${hash}"`],
    );
    await head.body?.cancel();
    const whole = await fetch(url);
    assertEquals(whole.headers.get("content-length"), lengthOf(bytes.length));
    assertEquals(await whole.bytes(), bytes);
    assertEquals((await fetch(url, { headers: { "if-none-match": `"${hash}"` } })).status, 304);
  },
);

testPrograms(
  COMMAND_LINES,
  "completes an open response with the version that it began with",
  async (program) => {
    // More than the buffers of the sockets hold.
    const [before, after] = ["a", "b"].map((letter) => letter.repeat(40_000_000));
    await using mirror = await serveMirror(program, { [OBSERVATIONS]: before! });
    const url = await mirror.urlOf(OBSERVATIONS);
    const response = await fetch(url);
    const reader = response.body!.getReader();
    let [bytes, others] = [0, 0];
    const count = (chunk: Uint8Array = new Uint8Array()) => {
      bytes += chunk.length;
      for (const byte of chunk) if (byte !== 0x61) others++;
    };
    count((await reader.read()).value);
    await writeMirror(mirror.folder, { [OBSERVATIONS]: after! });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      count(value);
    }
    assertEquals([bytes, others], [40_000_000, 0]);
    const gone = await fetch(url);
    assertEquals([gone.status, (await gone.json()).title], [410, "File replaced"]);
    const next = await fetch(await mirror.urlOf(OBSERVATIONS), { headers: { range: "bytes=-3" } });
    assertEquals(await next.text(), "bbb");
  },
);

testPrograms(COMMAND_LINES, "sends no file outside of the mirror", async (program) => {
  const texts = Object.fromEntries(
    ["a.parquet", "b.parquet", "d/c.parquet"].map((path) => [path, SECRET]),
  );
  await using mirror = await serveMirror(program, texts);
  const other = await Deno.makeTempDir({ prefix: "weir-mirror-" });
  try {
    await Deno.writeTextFile(`${other}/c.parquet`, SECRET);
    await Deno.remove(`${mirror.folder}/a.parquet`);
    await Deno.symlink(`${other}/c.parquet`, `${mirror.folder}/a.parquet`);
    await Deno.remove(`${mirror.folder}/d`, { recursive: true });
    await Deno.symlink(other, `${mirror.folder}/d`);
    for (const path of ["a.parquet", "d/c.parquet"]) {
      const response = await fetch(`${mirror.root}/mirror/${path}`);
      assertEquals([response.status, (await response.text()).includes(SECRET)], [503, false]);
    }
    // A link inside of the folder is followed.
    await Deno.rename(`${mirror.folder}/b.parquet`, `${mirror.folder}/b2.parquet`);
    await Deno.symlink("b2.parquet", `${mirror.folder}/b.parquet`);
    assertEquals(await (await fetch(`${mirror.root}/mirror/b.parquet`)).text(), SECRET);
    assertEquals((await fetch(`${mirror.root}/mirror/b2.parquet`)).status, 404);
  } finally {
    await Deno.remove(other, { recursive: true });
  }
});
