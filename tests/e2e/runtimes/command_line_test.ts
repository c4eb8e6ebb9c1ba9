// The command line works in Node and Bun as in Deno: files, signals, pipes and exit codes.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileNames, FOLDER, readFile, withFiles, writeFile } from "../command_line.ts";
import { bundle } from "../bundle.ts";
import { childCommand, runProgram } from "../../helpers/programs.ts";
import { needing } from "../needs.ts";
import { bun, node } from "../runtime_programs.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

for (const [name, program] of Object.entries({ Node: node, Bun: bun })) {
  Deno.test(needing(
    { [name]: program },
    `weir in ${name} downloads, resumes after an interruption, and reports errors`,
    () =>
      withFiles(async () => {
        await writeFile("weir.mjs", await bundle("src/cli/bin.ts", "--platform", "deno"));
        const sandbox = createSandbox({ hostileNames: true, requestsPerSecond: Infinity });
        let interrupt = () => {};
        let requests = 0;
        const { promise: ended, resolve: end } = Promise.withResolvers<void>();
        const handler = async (request: Request) => {
          if (++requests === 3) {
            interrupt();
            await ended;
          }
          return await sandbox.fetch(request);
        };
        await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
        const env = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
        const weir = (...args: string[]) =>
          childCommand(program!, {
            args: ["weir.mjs", ...args],
            cwd: FOLDER,
            env,
            stdin: "null",
            stdout: "piped",
            stderr: "piped",
          });
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        const baseUrl = `--base-url=http://127.0.0.1:${server.addr.port}/v1/odata/v4`;
        const flags = ["locations", baseUrl, "--select=Id", "--top=10"];

        const child = weir(...flags, "--output=a.csv").spawn();
        interrupt = () => child.kill("SIGINT");
        const broken = await child.output();
        end();
        assertEquals(broken.code, 130, text(broken.stderr));
        assertStringIncludes(text(broken.stderr), "with --resume to continue");
        const part = ["a.csv.part", "a.csv.part.json"];
        assertEquals(await fileNames(), [...part, "weir.mjs"]);
        const rows = await readFile("a.csv.part");
        await writeFile("a.csv.part", `${rows}and half of a page`);
        assertEquals((await weir(...flags, "--output=a.csv", "--resume").output()).code, 0);
        const { code, stdout } = await weir(...flags).output();
        const file = await readFile("a.csv");
        assertEquals([code, text(stdout)], [0, file.replaceAll("\r\n", "\n")]);
        assertEquals(text(stdout).split("\n").length, 62);

        await Deno.chmod(`${FOLDER}/a.csv`, 0o600);
        await runProgram("ln", "-s", "a.csv", `${FOLDER}/link.csv`);
        assertEquals((await weir(...flags, "--output=link.csv", "--force").output()).code, 0);
        assertEquals((await Deno.stat(`${FOLDER}/a.csv`)).mode! & 0o777, 0o600);
        await Deno.chmod(`${FOLDER}/a.csv`, 0o400);
        assertEquals((await weir(...flags, "--output=link.csv", "--force").output()).code, 1);
        await runProgram("mkfifo", `${FOLDER}/pipe.csv`);
        const waiting = weir(...flags, "--output=pipe.csv").spawn();
        // Until weir handles SIGHUP (bit 0 of the mask), which Node itself does not, unlike SIGTERM; and some time to
        // open the pipe, which has no reader.
        const status = `/proc/${waiting.pid}/status`;
        const handles = `(( 0x$(grep SigCgt ${status} | cut -f2) & 1 ))`;
        await runProgram("bash", "-c", `until ${handles}; do sleep 0.05; done; sleep 0.5`);
        waiting.kill("SIGTERM");
        assertEquals((await waiting.output()).code, 130);
        const reader = runProgram("timeout", "20", "cat", `${FOLDER}/pipe.csv`);
        assertEquals((await weir(...flags, "--output=pipe.csv").output()).code, 0);
        assertEquals((await reader)?.stdout, file);
        const direct = await weir(...flags, "--output=/dev/stdout").output();
        assertEquals([direct.code, text(direct.stdout)], [0, text(stdout)]);

        const wrong = await weir("recrds").output();
        assertEquals([wrong.code, text(wrong.stderr).includes("    at ")], [2, false]);
        const pipe =
          `"${program}" weir.mjs records --sandbox --quiet | head -n 1 >first; echo \${PIPESTATUS[0]}`;
        const piped = await new Deno.Command("bash", { args: ["-c", pipe], cwd: FOLDER, env })
          .output();
        assertEquals([text(piped.stdout), text(piped.stderr)], ["0\n", ""]);
        assert((await readFile("first")).startsWith("Id,DOI,"));
      }),
  ));
}
