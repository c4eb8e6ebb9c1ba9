// The data of the sandbox is deterministic and named as synthetic. Other tests compare it with the rules of WQX, and its
// resources with each other.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { sandboxRequests } from "../../helpers/sandbox.ts";

const { rows } = sandboxRequests({ records: 2_000, hostileNames: false });
/** SHA-256 of the rows of each resource as JSON; a deliberate change of the data changes them. */
const DIGESTS: Record<string, string> = {
  Metadata: "18697bfe69d0f670e31485378fdbc80b1e7e8b235dd1391fad313ae83fc1b289",
  Locations: "291248291f9638df8b095084eb7699062ed8d01f1e2dccab147c29988bd86316",
  Observations: "50c6cb02d2a08d2e0dc8db2bdde731570a51bc5320297500e1c0f6bbb19ad7ad",
  Records: "916b5b6f03671b7239e7dc40e8305595d4534c690b80c5334c43f3196081d020",
};
for (const [resource, digest] of Object.entries(DIGESTS)) {
  Deno.test(`createSandbox() returns the recorded ${resource} when there are 2,000 records`, async () => {
    const bytes = new TextEncoder().encode(JSON.stringify(await rows(resource)));
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    assertEquals(hash.toHex(), digest);
  });
}

Deno.test("createSandbox() names datasets and locations as synthetic", async () => {
  const all = [...await rows("Metadata"), ...await rows("Locations")];
  for (const { DatasetName, Name } of all) {
    assertMatch(String(DatasetName ?? Name), /synthetic|synthétique/i);
  }
});

/** The texts of all rows and their lists, except for time zones, which begin with a sign. */
async function textsOf(hostileNames: boolean): Promise<string[]> {
  const { rows } = sandboxRequests({ records: 2_000, hostileNames });
  const all = (await Promise.all(Object.keys(DIGESTS).map((name) => rows(name)))).flat();
  return all.flatMap((row) => Object.entries(row))
    .flatMap(([field, value]) => field.endsWith("TimeZone") ? [] : value)
    .filter((value) => typeof value === "string");
}

Deno.test("createSandbox() returns texts that programs treat specially only when hostileNames is true", async () => {
  const [everyday, hostile] = [await textsOf(false), await textsOf(true)];
  const patterns = [/<script>/, /^=/, /^\+/, /^-/, /^@/, /\n/, /\t/, /\p{Script=Arabic}/u];
  for (const pattern of patterns) {
    assertEquals(everyday.filter((text) => pattern.test(text)), []);
    assert(hostile.some((text) => pattern.test(text)), String(pattern));
  }
});
