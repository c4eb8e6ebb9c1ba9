// Entry points export the listed names only, so that a change of the public API requires an edit here.
import { assert, assertEquals } from "@std/assert";
import deno from "../../../deno.json" with { type: "json" };

/** Values that each entry point exports. */
const EXPORTS: Record<string, string> = {
  ".":
    "DataStream DataStreamError FILTER_FIELDS PRODUCTION_URL QA_URL RESOURCES ValidationError and " +
    "boundingBox csvFromPage endpoint endsWith eq geojsonFromPage gt gte isIn lt lte ndjsonFromPage ne " +
    "toRequest",
  "./endpoint": "ValidationError endpoint toRequest",
  "./cli": "main",
  "./edge": "createApp signUrl",
  "./serve": "default",
  "./node": "serveNode",
  "./cloudflare": "RateLimiterObject default durableObjectRateLimiter",
  "./deno-kv": "createKvRateLimiter",
  "./parquet": "parquetFormat toParquet",
  "./sandbox": "createSandbox",
  "./sync": "openFolder sync",
  "./xlsx": "toXlsx xlsxFormat",
};

Deno.test("each entry point exports only the listed values", async () => {
  assertEquals(Object.keys(deno.exports), Object.keys(EXPORTS));
  for (const [name, path] of Object.entries(deno.exports)) {
    if (name === "./serve") continue; // reads the configuration of the server
    const values = Object.keys(await import(`../../../${path.slice(2)}`));
    assertEquals(values.sort(), EXPORTS[name]!.split(" ").sort(), name);
  }
});

Deno.test("mod.ts exports at most 50 names when types are included", () => {
  const types = [...Deno.readTextFileSync("mod.ts").matchAll(/^export type \{([^}]*)\} from/gm)]
    .flatMap(([, names]) => names!.split(",").map((name) => name.trim()));
  assert(types.includes("Query"));
  assert(types.length + EXPORTS["."]!.split(" ").length <= 50, `${types.length} types`);
});
