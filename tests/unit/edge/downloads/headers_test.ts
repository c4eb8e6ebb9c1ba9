// The headers of a download name the file, its type and its caching.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";

async function head(path: string): Promise<Headers> {
  const { app } = overSandbox();
  const response = await app.request(path, { method: "HEAD" });
  assertEquals(response.status, 200);
  return response.headers;
}

const names: [wanted: string, ascii: string, encoded?: string][] = [
  ["lakes", "lakes.csv"],
  ["lakes.json", "lakes.csv"],
  ["Rivière à l’île", "Riviere a l_ile.csv", "Rivi%C3%A8re%20%C3%A0%20l%E2%80%99%C3%AEle.csv"],
  ["湖.csv", "_.csv", "%E6%B9%96.csv"],
  ['a"; filename="evil.exe', "a-; filename=-evil.exe.csv", "a-%3B%20filename%3D-evil.exe.csv"],
  ["a\r\nset-cookie: x=1", "aset-cookie- x=1.csv", "aset-cookie-%20x%3D1.csv"],
  ["../../etc/passwd", "etc-passwd.csv"],
  [".htaccess", "htaccess.csv"],
  ["CON", "_CON.csv"],
  ["vsc.\u202eexe", "vsc.exe.csv"],
  ["é".repeat(300), `${"e".repeat(60)}.csv`, `${"%C3%A9".repeat(60)}.csv`],
];
for (const [wanted, ascii, encoded = ascii] of names) {
  Deno.test(`EdgeApp.request() names the file ${ascii} when filename is ${JSON.stringify(wanted.slice(0, 30))}`, async () => {
    const headers = await head(`/Records.csv?filename=${encodeURIComponent(wanted)}`);
    assertEquals(
      headers.get("content-disposition"),
      `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`,
    );
    assertEquals(headers.has("set-cookie"), false);
  });
}

const filters: [filter: string | undefined, link: string | null][] = [
  [undefined, null],
  [
    "CharacteristicName eq 'pH' and DOI in ('10.81029/weir-ee00')",
    '<https://doi.org/10.81029/weir-ee00>; rel="cite-as"',
  ],
  ["DOI eq '10.25976/a-é\">'", '<https://doi.org/10.25976/a-%C3%A9%22%3E>; rel="cite-as"'],
  ["DOI in ('10.25976/weir-aa00','10.25976/weir-bb00')", null],
  ["DOI ne '10.25976/weir-aa00'", null],
  ["endswith(DOI, '10.25976/weir-aa00')", null],
  ["DOI eq 'javascript:alert(1)'", null],
];
for (const [filter, link] of filters) {
  Deno.test(`EdgeApp.request() sets the link ${link} when the filter is ${filter}`, async () => {
    const query = filter === undefined ? "" : `?$filter=${encodeURIComponent(filter)}`;
    const [first = ""] = (await head(`/Records.csv${query}`)).get("link")!.split(", ");
    assertEquals(first.endsWith('rel="cite-as"') ? first : null, link);
  });
}
