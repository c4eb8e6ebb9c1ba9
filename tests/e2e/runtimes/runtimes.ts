import { inBrowser, isInstalled as hasChromium, LOOPBACK } from "../browser/chromium.ts";
import { bundle } from "../../helpers/bundle.ts";
import { runProgram } from "../../helpers/programs.ts";
import { bun, node, workerd } from "../../helpers/runtime_programs.ts";
import { PUBLISHED, RUNTIMES } from "../servers/runtimes.ts";
import type { Addresses, Outcome } from "./run_behaviours.ts";

/** The outcome of each behaviour, by its name. */
type Outcomes = Record<string, Outcome>;

/** A runtime that may be installed. */
export interface ClientRuntime {
  name: string;
  isInstalled: boolean;
  run(addresses: Addresses): Promise<Outcomes>;
}

const PROCESS = "tests/e2e/runtimes/process.ts";

/** Where the client is to do the same. */
export const CLIENT_RUNTIMES: readonly ClientRuntime[] = [
  {
    name: "Deno",
    isInstalled: true,
    run: (addresses) =>
      outcomesOf(
        Deno.execPath(),
        "run",
        "--no-prompt",
        "--allow-net=127.0.0.1",
        PROCESS,
        addresses,
      ),
  },
  {
    name: "Node",
    isInstalled: node !== undefined,
    run: (addresses) => inFile((path) => outcomesOf(node!, path, addresses)),
  },
  {
    name: "Bun",
    isInstalled: bun !== undefined,
    run: (addresses) => inFile((path) => outcomesOf(bun!, path, addresses)),
  },
  {
    name: "workerd",
    isInstalled: workerd !== undefined,
    async run(addresses) {
      const runtime = RUNTIMES.find(({ name }) => name === "workerd")!;
      const entry = { ...PUBLISHED, module: "tests/e2e/runtimes/worker.ts" };
      await using server = await runtime.start(entry, {});
      const body = JSON.stringify(addresses);
      const response = await fetch(server.root, { method: "POST", body });
      if (!response.ok) throw new Error(`workerd: ${await response.text()} ${server.log()}`);
      return await response.json();
    },
  },
  { name: "Chromium", isInstalled: hasChromium, run: inPage },
];

/** Runs a program whose last argument is the addresses, and that prints the outcomes. */
async function outcomesOf(program: string, ...args: [...string[], Addresses]): Promise<Outcomes> {
  const addresses = JSON.stringify(args.pop());
  const result = await runProgram(program, ...args as string[], addresses);
  if (!result?.success) throw new Error(`${program} ended with ${result?.code}: ${result?.stderr}`);
  return JSON.parse(result.stdout);
}

/** Runs the behaviours as one file, which nothing has to be installed for. */
async function inFile(run: (path: string) => Promise<Outcomes>): Promise<Outcomes> {
  const folder = await Deno.makeTempDir({ prefix: "weir-runtimes-" });
  try {
    const path = `${folder}/behaviours.mjs`;
    await Deno.writeTextFile(path, await bundle(PROCESS, "--platform", "deno"));
    return await run(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs the behaviours in a page, whose origin is another than that of any service. */
async function inPage(addresses: Addresses): Promise<Outcomes> {
  const script = await bundle("tests/e2e/runtimes/run_behaviours.ts", "--platform", "browser");
  await using site = Deno.serve(
    LOOPBACK,
    ({ url }) =>
      url.endsWith(".js")
        ? new Response(script, { headers: { "content-type": "text/javascript" } })
        : new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
  );
  const outcomes: Outcomes = {};
  await inBrowser(async (browser) => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${site.addr.port}/`);
    const run = `import('/behaviours.js').then(({ runBehaviours }) => runBehaviours(${
      JSON.stringify(addresses)
    }))`;
    Object.assign(outcomes, await page.evaluate(run));
  });
  return outcomes;
}
