// The public names: each new one is a promise, and takes a deliberate edit here.
import { assertEquals } from "@std/assert";
import * as cli from "../../../src/cli/main.ts";
import * as edge from "../../../edge/app.ts";
import * as mod from "../../../mod.ts";
import * as sandbox from "../../../src/sandbox/service.ts";

Deno.test("mod.ts exports these values", () => {
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

Deno.test("the other entry points export these values", () => {
  assertEquals(Object.keys(cli), ["main"]);
  assertEquals(Object.keys(edge), ["createApp", "signUrl"]);
  assertEquals(Object.keys(sandbox), ["createSandbox"]);
});
