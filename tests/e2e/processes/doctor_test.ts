// `weir doctor` sends at most 25 requests, the refused ones last. Its files and output never have the key.
import { assertEquals } from "@std/assert";
import { type Body, examine, KEY } from "../../helpers/examined_service.ts";
import { ROOT } from "../../helpers/upstream.ts";

async function makeFolder(): Promise<string> {
  await Deno.mkdir("tests/tmp", { recursive: true });
  return await Deno.makeTempDir({ dir: "tests/tmp", prefix: "doctor_" });
}

Deno.test("weir doctor sends at most 25 requests with the key, the three refused ones last, and shows no key", async () => {
  const path = `${await makeFolder()}/answers.json`;
  const { code, differing, requests, output, errors } = await examine(({ body }) => {
    body.note = KEY;
  }, ["--save", path]);
  assertEquals([code, differing, requests.length], [0, [], 25]);
  assertEquals(errors.slice(0, 2), [
    `Sending 22 requests to ${ROOT}`,
    `Sending 3 requests to ${ROOT} that must be refused`,
  ]);
  const saved = await Deno.readTextFile(path);
  for (const text of [output, saved, ...errors]) assertEquals(text.includes(KEY), false);
  const { answers } = JSON.parse(saved);
  assertEquals(Object.values<Body>(answers).slice(-3).map(({ status }) => status), [400, 400, 401]);
  assertEquals(answers["largest page"].body.value.length, 3);
  const compare = ["--compare", path];
  const same = await examine(({ body }) => void (body.note = "x"), compare);
  const other = await examine(({ body, resource }) => {
    body.note = "x";
    if (resource === "Records") { for (const row of body.value) row.Id = String(row.Id); }
  }, compare);
  assertEquals(same.errors.slice(2, -1), []);
  assertEquals(other.errors.slice(2, -1), ["records: field Id is string, in the file number"]);
});

Deno.test("weir doctor names a file of the key that others can read", async () => {
  const home = await makeFolder();
  await Deno.mkdir(`${home}/.config/weir`, { recursive: true });
  await Deno.writeTextFile(`${home}/.config/weir/key`, KEY, { mode: 0o644 });
  const found = await examine(undefined, [], { HOME: home });
  assertEquals([found.code, found.differing], [1, ["key file"]]);
});
