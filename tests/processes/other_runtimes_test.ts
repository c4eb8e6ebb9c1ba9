// The command line as npm installs it, in Node and in Bun: files, signals, pipes, exit codes.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, FOLDER, readFile, withFiles, writeFile } from "../helpers/command_line.ts";
import { bundle } from "../helpers/bundle.ts";
import { bun, node } from "../helpers/runtime_programs.ts";
import { createSandbox } from "../../src/sandbox/service.ts";

for (const [name, program] of Object.entries({ Node: node, Bun: bun })) {
  if (!program) console.warn(`The tests of the command line in ${name} are skipped: there is none`);
  Deno.test({
    name: `weir in ${name} downloads, is interrupted, goes on, and tells faults`,
    ignore: !program,
    fn: () =>
      withFiles(async () => {
        await writeFile("weir.mjs", await bundle("src/cli/bin.ts", "--platform", "deno"));
        const sandbox = createSandbox({ requestsPerSecond: Infinity });
        let interrupt = () => {};
        let asked = 0;
        const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
        const handler = async (request: Request) => {
          if (++asked === 3) {
            interrupt();
            await isOver;
          }
          return await sandbox.fetch(request);
        };
        await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
        const env = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
        const weir = (...args: string[]) =>
          new Deno.Command(program!, {
            args: ["weir.mjs", ...args],
            ...{ cwd: FOLDER, env, stdin: "null", stdout: "piped", stderr: "piped" },
          });
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        const baseUrl = `--base-url=http://127.0.0.1:${server.addr.port}/v1/odata/v4`;
        const ask = ["locations", baseUrl, "--select=Id", "--top=10"];

        const child = weir(...ask, "--output=a.csv").spawn();
        interrupt = () => child.kill("SIGINT");
        const broken = await child.output();
        end();
        assertEquals(broken.code, 130, text(broken.stderr));
        assertStringIncludes(text(broken.stderr), "--resume goes on from there");
        assertEquals(await fileNames(), ["a.csv.part", "a.csv.part.json", "weir.mjs"]);
        assertEquals((await weir(...ask, "--output=a.csv", "--resume").output()).code, 0);
        const { code, stdout } = await weir(...ask).output();
        assertEquals([code, text(stdout)], [0, await readFile("a.csv")]);
        assertEquals(text(stdout).split("\r\n").length, 62);

        const wrong = await weir("recrds").output();
        assertEquals([wrong.code, text(wrong.stderr).includes("    at ")], [2, false]);
        const pipe =
          `"${program}" weir.mjs records --sandbox --quiet | head -n 1 >first; echo \${PIPESTATUS[0]}`;
        const piped = await new Deno.Command("bash", { args: ["-c", pipe], cwd: FOLDER, env })
          .output();
        assertEquals([text(piped.stdout), text(piped.stderr)], ["0\n", ""]);
        assert((await readFile("first")).startsWith("Id,DOI,"));
      }),
  });
}
