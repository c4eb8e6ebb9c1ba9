// Requests go through the proxy of HTTP_PROXY, and not through it for NO_PROXY, or a message says what to do.
import { assertEquals, assertMatch } from "@std/assert";
import { bundle } from "../bundle.ts";
import { denoArguments, FOLDER, serving, withFiles, writeFile } from "../command_line.ts";
import { runProgram, runProgramWith } from "../../helpers/programs.ts";
import { needing } from "../needs.ts";
import { Proxy } from "./proxy.ts";
import { bun, newestNode, node } from "../runtime_programs.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

/** Whether a version of Node can use a proxy, by a function or by a variable. */
async function nodeCan(
  program: string | undefined,
): Promise<{ itself: boolean; hasFlag: boolean }> {
  if (program === undefined) return { itself: false, hasFlag: false };
  const script = `const flags = process.allowedNodeEnvironmentFlags;
    const itself = "setGlobalProxyFromEnv" in require("http");
    console.log(JSON.stringify({ itself, hasFlag: flags.has("--use-env-proxy") }))`;
  return JSON.parse((await runProgram(program, "-e", script))!.stdout);
}

const runtimes = [
  { name: "Deno", program: Deno.execPath(), itself: true, hasFlag: true },
  { name: "Node", program: node, ...await nodeCan(node) },
  { name: "the newest Node", program: newestNode, ...await nodeCan(newestNode) },
  { name: "Bun", program: bun, itself: true, hasFlag: true },
];

for (const { name, program, itself, hasFlag } of runtimes) {
  const isNode = name.endsWith("Node");
  const uses: [variables: Record<string, string>, isUsed: boolean][] = [
    [{ HTTP_PROXY: "PROXY" }, itself],
    [{ HTTP_PROXY: "PROXY", NODE_USE_ENV_PROXY: "1" }, itself || hasFlag],
    [{ HTTP_PROXY: "PROXY", NO_PROXY: "127.0.0.1" }, false],
  ];
  Deno.test(needing(
    { [name]: program },
    `weir in ${name} ${itself ? "uses HTTP_PROXY" : "ignores HTTP_PROXY"} and NO_PROXY`,
    () =>
      serving(createSandbox({ requestsPerSecond: Infinity }).fetch, async (line, baseUrl) => {
        await using proxy = new Proxy();
        await writeFile("weir.mjs", await bundle("src/cli/bin.ts", "--platform", "deno"));
        const args = name === "Deno" ? denoArguments(line, []) : ["weir.mjs"];
        for (const [variables, isUsed] of uses) {
          proxy.requests.length = 0;
          // Deno's own request for its newest version would go through the proxy, too.
          const env: Record<string, string> = { ...line.environment, DENO_NO_UPDATE_CHECK: "1" };
          for (const [variable, value] of Object.entries(variables)) {
            env[variable] = value.replace("PROXY", proxy.url);
          }
          const command = [...args, "locations", baseUrl, "--limit=1", "--select=Id"];
          const ran = await runProgramWith({ cwd: FOLDER, env }, program!, ...command);
          assertEquals([ran?.code, ran?.stdout], [0, "Id\n1001\n"], ran?.stderr);
          assertEquals(proxy.requests.length > 0, isUsed, JSON.stringify(variables));
        }
      }),
  ));

  if (!isNode) continue;
  Deno.test(needing(
    { [name]: program },
    `ignoredProxyHint() says what to do when a proxy is set and ignored in ${name}`,
    () =>
      withFiles(async () => {
        await writeFile("proxy.mjs", await bundle("src/cli/proxy.ts", "--platform", "deno"));
        const script = `import { ignoredProxyHint, useProxy } from "./proxy.mjs";
          const before = ignoredProxyHint();
          await useProxy();
          console.log(JSON.stringify([before ?? null, ignoredProxyHint() ?? null]));`;
        const hintsFor = async (env: Record<string, string>) => {
          const args = ["--input-type=module", "-e", script];
          const ran = await runProgramWith({ cwd: FOLDER, env }, program!, ...args);
          return JSON.parse(ran!.stdout);
        };
        assertEquals(await hintsFor({}), [null, null]);
        const [before, after] = await hintsFor({ HTTPS_PROXY: "http://127.0.0.1:9" });
        const remedy = hasFlag ? "set NODE_USE_ENV_PROXY=1" : "use Node 24.14 or later, or Deno";
        assertMatch(before, new RegExp(`^Node v[\\d.]+ ignores HTTPS_PROXY .*: ${remedy}$`));
        assertEquals(after, itself ? null : before);
        const hints = await hintsFor({
          HTTPS_PROXY: "http://127.0.0.1:9",
          NODE_USE_ENV_PROXY: "1",
        });
        assertEquals(hints[0], hasFlag ? null : before);
        if (!itself) return;
        const [, invalid] = await hintsFor({ HTTPS_PROXY: "user:password of-a-test" });
        assertEquals(invalid, "The proxy was not used: HTTPS_PROXY or HTTP_PROXY is not a URL");
      }),
  ));
}
