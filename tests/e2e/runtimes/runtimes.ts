import { inBrowser, isInstalled as hasChromium, LOOPBACK } from "../browser/chromium.ts";
import { bundle } from "../bundle.ts";
import { runProgram } from "../../helpers/programs.ts";
import { bun, node, workerd } from "../runtime_programs.ts";
import { inWorkerd, startProgram } from "../servers/runtimes.ts";
import type { BaseUrls, BehaviourResult } from "./run_behaviours.ts";

type Results = Record<string, BehaviourResult>;

export interface ClientRuntime {
  name: string;
  isInstalled: boolean;
  run(baseUrls: BaseUrls): Promise<Results>;
}

const PROCESS = "tests/e2e/runtimes/process.ts";

export const CLIENT_RUNTIMES: readonly ClientRuntime[] = [
  {
    name: "Deno",
    isInstalled: true,
    run(baseUrls) {
      const flags = ["--no-prompt", "--allow-net=127.0.0.1"];
      const certificate = "--unsafely-ignore-certificate-errors=127.0.0.1";
      return runProcess(Deno.execPath(), "run", ...flags, certificate, PROCESS, baseUrls);
    },
  },
  {
    name: "Node",
    isInstalled: node !== undefined,
    run: (baseUrls) => runBundled((path) => runProcess(node!, path, baseUrls)),
  },
  {
    name: "Bun",
    isInstalled: bun !== undefined,
    run: (baseUrls) => runBundled((path) => runProcess(bun!, path, baseUrls)),
  },
  {
    name: "workerd",
    isInstalled: workerd !== undefined,
    async run(baseUrls) {
      const worker = inWorkerd("workerd", "tests/e2e/runtimes/worker.ts");
      await using server = await startProgram(worker, {});
      const body = JSON.stringify(baseUrls);
      const response = await fetch(server.root, { method: "POST", body });
      if (!response.ok) throw new Error(`workerd: ${await response.text()} ${server.log()}`);
      return await response.json();
    },
  },
  { name: "Chromium", isInstalled: hasChromium, run: runInPage },
];

async function runProcess(program: string, ...args: [...string[], BaseUrls]): Promise<Results> {
  const baseUrls = JSON.stringify(args.pop());
  const result = await runProgram(program, ...args as string[], baseUrls);
  if (!result?.success) throw new Error(`${program} ended with ${result?.code}: ${result?.stderr}`);
  return JSON.parse(result.stdout);
}

/** Bundles the behaviours into a temporary file and runs it. */
async function runBundled(run: (path: string) => Promise<Results>): Promise<Results> {
  const folder = await Deno.makeTempDir({ prefix: "weir-runtimes-" });
  try {
    const path = `${folder}/behaviours.mjs`;
    await Deno.writeTextFile(path, await bundle(PROCESS, "--platform", "deno"));
    return await run(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs the behaviours in a browser page, whose origin differs from those of the services. */
async function runInPage(baseUrls: BaseUrls): Promise<Results> {
  const script = await bundle("tests/e2e/runtimes/run_behaviours.ts", "--platform", "browser");
  await using site = Deno.serve(
    LOOPBACK,
    ({ url }) =>
      url.endsWith(".js")
        ? new Response(script, { headers: { "content-type": "text/javascript" } })
        : new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
  );
  const results: Results = {};
  await inBrowser(async (browser) => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${site.addr.port}/`);
    const run = `import('/behaviours.js').then(({ runBehaviours }) => runBehaviours(${
      JSON.stringify(baseUrls)
    }))`;
    Object.assign(results, await page.evaluate(run));
  });
  return results;
}
