// systemd, nginx and Caddy accept the files of docs/deploying.md as they are written, with the ports 80 and 443.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { deploymentBlock } from "../../helpers/documents.ts";
import { runProgram } from "../../helpers/programs.ts";
import { testNeeding } from "../needs.ts";
import { node } from "../runtime_programs.ts";
import { runWith } from "./files.ts";
import { CADDYFILE, CERTIFICATE, NGINX, NGINX_SITE, nginxFile, PROXIES } from "./proxies.ts";

const hasSystemd = (await runProgram("systemd-analyze", "--version"))?.success;

testNeeding(
  { "systemd-analyze": hasSystemd, Node: node },
  "systemd accepts the unit without a warning",
  async () => {
    // Debian's package installs Node there; other installations do not.
    const unit = deploymentBlock("[Unit]").replace("/usr/bin/node", node!);
    const verify = ["verify", "--man=no", "./weir.service"];
    assertEquals(await runWith({ "weir.service": unit }, "systemd-analyze", ...verify), [0, ""]);
  },
);

/** Whether a port can be bound, or another program has bound it. */
function mayListen(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    return error instanceof Deno.errors.AddrInUse;
  }
}

const [nginx, caddy] = PROXIES;

testNeeding(
  { nginx: nginx!.isInstalled, "the right to use port 80": mayListen(80) },
  "nginx accepts the site",
  async () => {
    const files = { ...CERTIFICATE, "nginx.conf": nginxFile(NGINX_SITE) };
    const [code, output] = await runWith(files, "nginx", ...NGINX, "-t");
    assertEquals([code, /\[(warn|error|emerg)\]/.test(output)], [0, false], output);
    for (const port of [80, 443]) assertStringIncludes(NGINX_SITE, `listen [::]:${port}`);
  },
);

testNeeding({ Caddy: caddy!.isInstalled }, "Caddy accepts its file", async () => {
  const validate = ["validate", "--config", "Caddyfile"];
  const [code, output] = await runWith({ Caddyfile: CADDYFILE }, "caddy", ...validate);
  assertEquals([code, /"level":"(warn|error)"/.test(output)], [0, false], output);
  const [, adapted] = await runWith({ Caddyfile: CADDYFILE }, "caddy", "adapt");
  assertStringIncludes(adapted, '"listen":[":443"]');
});
