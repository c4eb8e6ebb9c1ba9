// Lists the public names, so that a change of the public API requires an edit here.
import { assert, assertEquals } from "@std/assert";
import * as cloudflare from "../../../edge/cloudflare/mod.ts";
import * as cli from "../../../src/cli/main.ts";
import * as edge from "../../../edge/app.ts";
import * as endpoint from "../../../src/endpoint/mod.ts";
import * as denoKv from "../../../edge/deno/kv_rate_limiter.ts";
import * as node from "../../../edge/node.ts";
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
  assertEquals(Object.keys(sandbox), ["createSandbox"]);
});

Deno.test("endpoint exports the values and types of the builder that mod.ts exports", () => {
  for (const name of Object.keys(endpoint)) assert(name in mod, name);
  const sources = ["mod.ts", "src/endpoint/mod.ts"].map((path) => Deno.readTextFileSync(path));
  const [all, own] = sources.map((code) =>
    [...code.matchAll(/^export (?:type )?\{([^}]*)\} from "(?:\.\/src\/endpoint|\.)\/\w+\.ts"/gm)]
      .flatMap(([, names]) => names!.split(",").map((name) => name.trim()))
      .filter((name) => name !== "").sort()
  );
  assertEquals(own, all);
});
