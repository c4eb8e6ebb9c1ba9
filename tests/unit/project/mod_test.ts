// Lists the public names, so that a change of the public API requires an edit here.
import { assertEquals } from "@std/assert";
import * as cli from "../../../src/cli/main.ts";
import * as edge from "../../../edge/app.ts";
import * as mod from "../../../mod.ts";
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

Deno.test("cli, edge and sandbox export only the listed values when they are imported", () => {
  assertEquals(Object.keys(cli), ["main"]);
  assertEquals(Object.keys(edge), ["createApp", "signUrl"]);
  assertEquals(Object.keys(sandbox), ["createSandbox"]);
});
