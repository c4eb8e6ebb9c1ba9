// Runs the Cloudflare Worker of examples/ with the versions of Wrangler that npm installs on Node 20
// and on Node 22. No test deploys it.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { documentBlocks } from "../../helpers/documents.ts";
import { readCsv } from "../../helpers/rfc4180.ts";
import { provideClone, runCommand, startCommand } from "./clone.ts";
import { commandsFor, EXAMPLES } from "./readme.ts";

/** Versions of Wrangler, and the packages to install. */
const WRANGLERS: Record<string, string[]> = {
  "4.86.0": ["wrangler@4.86.0"],
  // It needs Node 22.12 or later. `npx` uses the Node of this package.
  "4.164.0": ["wrangler@4.164.0", "node@22"],
};
const DRY_RUN = "npx wrangler deploy --dry-run";
const [copyVariables, dev] = EXAMPLES.find(({ path }) => path === "cloudflare")!.commands;

/** Returns the path of a copy of the clone with a trailing slash. */
const clone = provideClone();

for (const [version, packages] of Object.entries(WRANGLERS)) {
  Deno.test(`examples/cloudflare runs in wrangler dev and passes a dry run of wrangler deploy when Wrangler is ${version}`, async () => {
    const folder = `${clone()}examples/cloudflare-${version}/`;
    await runCommand(clone(), `cp -r examples/cloudflare ${folder}`);
    const environment = { XDG_CONFIG_HOME: `${folder}.config` };
    const run = (command: string) => runCommand(folder, command, environment);
    const [install] = commandsFor("package").slice(-1);
    await run(`${install} ${packages.join(" ")}`);
    assertEquals((await run("npx wrangler --version")).stdout.trim().split(" ").at(-1), version);

    const { stdout } = await run(DRY_RUN);
    assertStringIncludes(stdout, 'env.WEIR_ACCESS ("caller")');
    assertStringIncludes(stdout, "env.RATE_LIMITER (RateLimiterObject)");
    {
      await using server = await startCommand(folder, dev!, environment);
      const response = await fetch(`${server.root}/Records.csv?limit=5`);
      assertEquals([response.status, (await response.json()).status], [401, 401]);
    }

    await run(copyVariables!);
    await using server = await startCommand(folder, dev!, environment);
    const response = await fetch(`${server.root}/Records.csv?$filter=CharacteristicName eq 'pH'`);
    assertEquals([response.status, response.headers.get("x-weir-data")], [200, "synthetic"]);
    // More than one page of 2000 rows.
    assertEquals(readCsv(await response.text()).length, 1 + 4_005);
  });
}

Deno.test("docs/deploying.md has the tested commands of Wrangler when it is read", () => {
  const lines = documentBlocks().filter(({ file }) => file === "docs/deploying.md")
    .flatMap(({ code }) => code.split("\n"));
  for (const command of [DRY_RUN, copyVariables!, dev!]) assert(lines.includes(command), command);
});
