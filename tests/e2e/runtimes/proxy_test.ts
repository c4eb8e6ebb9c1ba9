// Requests go through the proxy of HTTP_PROXY, and not through it for NO_PROXY; a version of Node that ignores it says
// what to do.
import { assertEquals, assertMatch } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram, runProgramWith } from "../../helpers/programs.ts";
import { bundle } from "../bundle.ts";
import {
  commandOf,
  FOLDER,
  PROGRAMS,
  type Runtime,
  serving,
  testWithFiles,
  writeBundle,
  writeFile,
} from "../command_line.ts";
import { testNeeding } from "../needs.ts";
import { startProxy } from "./proxy.ts";

/** Whether a version of Node can use a proxy, by a function or by a variable. */
async function nodeCan(runtime: Runtime): Promise<{ itself: boolean; hasFlag: boolean }> {
  const program = PROGRAMS[runtime];
  if (program === undefined) return { itself: false, hasFlag: false };
  const script = `const flags = process.allowedNodeEnvironmentFlags;
    const itself = "setGlobalProxyFromEnv" in require("http");
    console.log(JSON.stringify({ itself, hasFlag: flags.has("--use-env-proxy") }))`;
  return JSON.parse((await runProgram(program, "-e", script))!.stdout);
}

for (const runtime of Object.keys(PROGRAMS) as Runtime[]) {
  const isNode = runtime.endsWith("Node");
  const { itself, hasFlag } = isNode ? await nodeCan(runtime) : { itself: true, hasFlag: true };
  const needs = { [runtime]: PROGRAMS[runtime] };

  testNeeding(
    needs,
    `weir in ${runtime} ${itself ? "uses HTTP_PROXY" : "ignores HTTP_PROXY"} and NO_PROXY`,
    () =>
      serving(createSandbox({ requestsPerSecond: Infinity }).fetch, async (line, baseUrl) => {
        await using proxy = await startProxy();
        await writeBundle();
        const uses: [variables: Record<string, string>, isUsed: boolean][] = [
          [{}, itself],
          [{ NODE_USE_ENV_PROXY: "1" }, itself || hasFlag],
          [{ NO_PROXY: "127.0.0.1" }, false],
        ];
        const args = ["locations", baseUrl, "--limit=1", "--select=Id"];
        const command = commandOf({ ...line, runtime }, ...args);
        for (const [variables, isUsed] of uses) {
          proxy.requests = 0;
          // Deno's own request for its newest version would go through the proxy, too.
          const own = { HTTP_PROXY: proxy.url, DENO_NO_UPDATE_CHECK: "1" };
          const env = { ...line.environment, ...own, ...variables };
          const ran = await runProgramWith({ cwd: FOLDER, env }, ...command);
          assertEquals([ran?.code, ran?.stdout], [0, '"Id"\n1001\n'], ran?.stderr);
          assertEquals(proxy.requests > 0, isUsed, JSON.stringify(variables));
        }
      }),
  );

  if (!isNode) continue;
  testWithFiles(`ignoredProxyHint() says what to do with the proxy in ${runtime}`, async () => {
    await writeFile("proxy.mjs", await bundle("src/cli/proxy.ts", "--platform", "deno"));
    const script = `import { ignoredProxyHint, useProxy } from "./proxy.mjs";
        await useProxy();
        console.log(ignoredProxyHint());`;
    const remedy = hasFlag ? "set NODE_USE_ENV_PROXY=1" : "use Node 24.14 or later, or Deno";
    const none = /^undefined\n$/;
    const ignored = new RegExp(`^Node v[\\d.]+ ignores HTTPS_PROXY .*: ${remedy}\n$`);
    const invalid = /^The proxy was not used: HTTPS_PROXY or HTTP_PROXY is not a URL\n$/;
    const HTTPS_PROXY = "http://127.0.0.1:9";
    const hints: [env: Record<string, string>, hint: RegExp][] = [
      [{}, none],
      [{ HTTPS_PROXY }, itself ? none : ignored],
      [{ HTTPS_PROXY, NODE_USE_ENV_PROXY: "1" }, hasFlag ? none : ignored],
      [{ HTTPS_PROXY: "user:password of-a-test" }, itself ? invalid : ignored],
    ];
    for (const [env, hint] of hints) {
      const args = ["--input-type=module", "-e", script];
      const ran = await runProgramWith({ cwd: FOLDER, env }, PROGRAMS[runtime]!, ...args);
      assertMatch(ran!.stdout, hint);
    }
  }, needs);
}
