// Starts the program of the suite `stream` in a separate process, with the client of a checkout.
import { toCapnp } from "../e2e/servers/capnp.ts";
import { PROJECT } from "../helpers/project.ts";
import { node, workerd } from "../helpers/runtime_programs.ts";
import type { StreamRuntime } from "./stream_table.ts";
import { type ServerProcess, startProcess } from "./processes.ts";

/** Those of the runtimes that are installed. */
export const INSTALLED: readonly StreamRuntime[] = [
  "Deno",
  ...node === undefined ? [] : ["Node" as const],
  ...workerd === undefined ? [] : ["workerd" as const],
];

/** Serves the program with Node's HTTP server. */
const NODE_SERVER = `
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import program from "./program.mjs";
const server = createServer(async (request, response) => {
  const body = await text(request);
  const result = await program.fetch(new Request("http://localhost/", { method: "POST", body }));
  response.end(await result.text());
});
server.listen(0, "127.0.0.1", () => console.error("http://127.0.0.1:" + server.address().port));
`;

/**
 * Bundles the program with the client of a checkout, for all runtimes.
 *
 * @param checkout Folder of the checkout, with a trailing slash
 * @param folder Folder to write to
 */
export async function bundleProgram(checkout: string, folder: string): Promise<void> {
  await Deno.mkdir(folder);
  await Deno.writeTextFile(
    `${folder}/entry.ts`,
    `import { DataStream } from "${checkout}mod.ts";
    import { createProgram } from "${PROJECT}tests/bench/stream_program.ts";
    export default createProgram(DataStream);`,
  );
  const config = `--config=${checkout}deno.json`;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", config, `${folder}/entry.ts`],
    cwd: checkout,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  await Deno.writeFile(`${folder}/program.mjs`, stdout);
  await Deno.writeTextFile(`${folder}/node.mjs`, NODE_SERVER);
  // Later files of workerd's configuration are relative to it.
  await Deno.writeFile(`${folder}/app.js`, stdout);
  const wrangler = await Deno.readTextFile(`${PROJECT}examples/cloudflare/wrangler.jsonc`);
  await Deno.writeTextFile(`${folder}/app.capnp`, toCapnp(wrangler, {}));
}

/** Starts the program in a folder of `bundleProgram()`. */
export function startProgram(runtime: StreamRuntime, folder: string): Promise<ServerProcess> {
  switch (runtime) {
    case "Deno": {
      const flags = ["--allow-all", "--no-config", "--host", "127.0.0.1", "--port", "0"];
      return startProcess(Deno.execPath(), ["serve", ...flags, "program.mjs"], {}, folder);
    }
    case "Node":
      return startProcess(node!, ["node.mjs"], {}, folder);
    case "workerd":
      return startProcess(workerd!, ["serve", "--control-fd=2", "app.capnp"], {}, folder);
  }
}
