// `dist/weir.js` runs in Chromium with the hash that `deno task pack` prints, and with no other.
import { assert, assertEquals } from "@std/assert";
import { documentBlocks } from "../helpers/documents.ts";
import { PROJECT } from "../helpers/project.ts";
import { browserTest, inBrowser, LOOPBACK } from "../e2e/browser/chromium.ts";
import { output } from "./project.ts";

let code: string;
let map: string;
let integrity: string;

Deno.test.beforeAll(async () => {
  const printed = await output(PROJECT, Deno.execPath(), "task", "pack");
  integrity = /^integrity of dist\/weir\.js: (sha384-\S+)$/m.exec(printed)![1]!;
  code = await Deno.readTextFile(`${PROJECT}dist/package/dist/weir.js`);
  map = await Deno.readTextFile(`${PROJECT}dist/package/dist/weir.js.map`);
});

/** Returns the page in docs/client.md, which loads `weir.js` with an expected hash. It sets `result`. */
function pageWith(integrity: string): string {
  const block = documentBlocks().find(({ file, language, code }) =>
    file === "docs/client.md" && language === "html" && code.includes("importmap")
  );
  assert(block, "docs/client.md has no page with an import map");
  return block.code.replace("sha384-HASH", integrity)
    .replace(/console\.log\((.*)\);/, "globalThis.result = $1;");
}

/** Returns the text that a page computes, or `undefined` if its modules do not run. */
async function run(html: string): Promise<string | undefined> {
  await using server = Deno.serve(LOOPBACK, (request) => {
    const { pathname } = new URL(request.url);
    const isCode = pathname === "/weir.js";
    const type = isCode ? "text/javascript" : "text/html";
    return new Response(isCode ? code : `<!doctype html>${html}`, {
      headers: { "content-type": type },
    });
  });
  let result: string | undefined;
  await inBrowser(async (browser) => {
    const page = await browser.newPage();
    // Module scripts run before this event.
    await page.goto(`http://127.0.0.1:${server.addr.port}/`, { waitUntil: "load" });
    result = await page.evaluate("globalThis.result");
    await page.close();
  });
  return result;
}

browserTest("weir.js runs only with its hash when a page has an import map", async () => {
  const expected = "https://api.datastream.org/v1/odata/v4/Locations";
  assertEquals(await run(pageWith(integrity)), expected);
  const wrong = integrity.replace(/.{4}$/, "AAAA");
  assert(wrong !== integrity);
  assertEquals(await run(pageWith(wrong)), undefined);
});

Deno.test("weir.js has the exports of mod.ts and a source map when it is built", async () => {
  const module = JSON.stringify(`${PROJECT}dist/package/dist/weir.js`);
  const names = `import(${module}).then((weir) => console.log(Object.keys(weir).join()))`;
  const printed = await output(PROJECT, "node", "--eval", names);
  assertEquals(printed.trim(), Object.keys(await import(`${PROJECT}mod.ts`)).join());
  assert(code.endsWith("\n//# sourceMappingURL=weir.js.map\n"));
  assert(JSON.parse(map).sources.includes("../src/client/datastream.ts"));
});
