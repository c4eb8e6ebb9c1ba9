// Lists the public names, so that a change of the public API requires an edit here.
import { assert, assertEquals } from "@std/assert";
import * as cloudflare from "../../../edge/cloudflare/mod.ts";
import * as cli from "../../../src/cli/main.ts";
import * as edge from "../../../edge/app.ts";
import * as endpoint from "../../../src/endpoint/mod.ts";
import * as denoKv from "../../../edge/deno/kv_rate_limiter.ts";
import * as node from "../../../edge/node.ts";
import * as mod from "../../../mod.ts";
import * as parquet from "../../../src/formats/parquet.ts";
import * as sandbox from "../../../src/sandbox/service.ts";

Deno.test("mod.ts exports only the listed values when it is imported", () => {
  assertEquals(Object.keys(mod).sort(), [
    "DataStream",
    "DataStreamError",
    "FILTER_FIELDS",
    "PRODUCTION_URL",
    "QA_URL",
    "RESOURCES",
    "ValidationError",
    "and",
    "boundingBox",
    "csvFromPage",
    "endpoint",
    "endsWith",
    "eq",
    "geojsonFromPage",
    "gt",
    "gte",
    "isIn",
    "lt",
    "lte",
    "ndjsonFromPage",
    "ne",
    "toRequest",
  ]);
});

Deno.test("the other entries export only the listed values when they are imported", () => {
  assertEquals(Object.keys(endpoint), ["ValidationError", "endpoint", "toRequest"]);
  assertEquals(Object.keys(cli), ["main"]);
  assertEquals(Object.keys(edge), ["createApp", "signUrl"]);
  assertEquals(Object.keys(node), ["serveNode"]);
  assertEquals(Object.keys(cloudflare), [
    "RateLimiterObject",
    "default",
    "durableObjectRateLimiter",
  ]);
  assertEquals(Object.keys(denoKv), ["createKvRateLimiter"]);
  assertEquals(Object.keys(parquet), ["parquetFormat", "toParquet"]);
  assertEquals(Object.keys(sandbox), ["createSandbox"]);
});

Deno.test("mod.ts exports at most 50 names when types are included", () => {
  const code = Deno.readTextFileSync("mod.ts");
  const types = [...code.matchAll(/^export type \{([^}]*)\} from/gm)]
    .flatMap(([, names]) => names!.split(",").map((name) => name.trim()));
  assert(types.includes("Query"));
  assert(types.length + Object.keys(mod).length <= 50, `${types.length} types`);
});
