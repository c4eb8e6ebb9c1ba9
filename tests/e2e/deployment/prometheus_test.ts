// promtool accepts the metrics of a server, and the configuration and the alerts of docs/deploying.md, which fire as alerts.yml says.
import { assertEquals } from "@std/assert";
import { deploymentBlock } from "../../helpers/documents.ts";
import { runProgram } from "../../helpers/programs.ts";
import { testNeeding } from "../needs.ts";
import { COMMAND_LINES, startProgram } from "../servers/runtimes.ts";
import { runWith } from "./files.ts";

const needs = { promtool: (await runProgram("promtool", "--version"))?.success };
const TOKEN = "token-of-anna-in-a-test";
const METRICS_TOKEN = "metrics-token-of-a-test";

testNeeding(needs, "promtool accepts the metrics after downloads and errors", async () => {
  await using server = await startProgram(COMMAND_LINES[0]!, {
    WEIR_SANDBOX: "1",
    WEIR_ACCESS: "token",
    WEIR_TOKENS: `anna=${TOKEN}`,
    WEIR_METRICS_TOKEN: METRICS_TOKEN,
  });
  const get = async (path: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return await (await fetch(server.root + path, { headers })).text();
  };
  await get("/Records.csv?limit=5", TOKEN);
  await get("/Records.csv?limit=x", TOKEN);
  await get("/metrics", METRICS_TOKEN);
  const metrics = await get("/metrics", METRICS_TOKEN);
  const check = ["-c", "promtool check metrics < metrics"];
  assertEquals(await runWith({ metrics }, "sh", ...check), [0, ""]);
});

testNeeding(needs, "promtool accepts the configuration and the alerts, which fire", async () => {
  const rules = deploymentBlock("groups:");
  const files = {
    "weir.rules.yml": rules,
    "prometheus.yml": `rule_files: ["weir.rules.yml"]\n${deploymentBlock("scrape_configs:")}`,
    "alerts.yml": await Deno.readTextFile(new URL("alerts.yml", import.meta.url)),
  };
  for (
    const args of [
      ["check", "rules", "--lint-fatal", "weir.rules.yml"],
      ["check", "config", "--syntax-only", "prometheus.yml"],
      ["test", "rules", "alerts.yml"],
    ]
  ) {
    const [code, output] = await runWith(files, "promtool", ...args);
    assertEquals(code, 0, output);
  }
});
