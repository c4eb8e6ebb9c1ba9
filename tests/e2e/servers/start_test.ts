// Where the servers listen, which settings they prefer, and what they print when they cannot start.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runProgramWith } from "../../helpers/programs.ts";
import { waitFor } from "../wait_for.ts";
import { COMMAND_LINES, DEFAULT_EXPORTS, type ServerProgram, testPrograms } from "./runtimes.ts";
import { startServer } from "./server.ts";

/** Runs a program that does not start; returns its exit code and its lines. */
async function runToEnd(
  program: ServerProgram,
  given: Record<string, string>,
  { flags = [], files: more = {} }: { flags?: string[]; files?: Record<string, string> } = {},
): Promise<{ code: number; lines: string[] }> {
  const { program: path, args, files, environment } = await program.command(given);
  const folder = await Deno.makeTempDir({ prefix: "weir-start-" });
  try {
    for (const [name, text] of Object.entries({ ...files, ...more })) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const options = { cwd: folder, env: { ...environment, NO_COLOR: "1" } };
    const { code, stdout, stderr } = (await runProgramWith(options, path, ...args, ...flags))!;
    return { code, lines: (stdout + stderr).split("\n").filter((line) => line !== "") };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const [programs, code] of [[COMMAND_LINES, 2], [DEFAULT_EXPORTS, 1]] as const) {
  testPrograms(
    programs,
    `prints a message and exits with ${code} when a value is invalid`,
    async (program) => {
      const environment = { WEIR_SANDBOX: "1", WEIR_MAX_ROWS: "many" };
      const ended = await runToEnd(program, environment);
      assertEquals(ended.code, code, ended.lines.join("\n"));
      const [first, ...others] = ended.lines;
      assertStringIncludes(
        first!,
        'WEIR_MAX_ROWS must be a whole number of at least 1, got "many"',
      );
      assertEquals(others, code === 2 ? ["For help, run weir serve --help"] : []);
    },
  );
}

testPrograms(
  COMMAND_LINES,
  "prints a message and exits with 1 when the port is in use",
  async (program) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    const { code, lines } = await runToEnd(program, { WEIR_SANDBOX: "1", PORT: String(port) });
    assertEquals([code, ...lines], [
      1,
      `Cannot listen on http://127.0.0.1:${port}/: another program uses this port: choose another port, or stop that program`,
    ]);
  },
);

testPrograms(
  COMMAND_LINES,
  "listens only on the address of --host or HOST, by default 127.0.0.1",
  async (program) => {
    const command = await program.command({ WEIR_SANDBOX: "1" });
    const addresses = ["127.0.0.1", "127.0.0.2"];
    const uses: [host: string, variable: string, flags: string[]][] = [
      ["127.0.0.1", "", []],
      ["127.0.0.2", "127.0.0.2", []],
      ["127.0.0.2", "127.0.0.1", ["--host", "127.0.0.2"]],
    ];
    for (const [host, variable, flags] of uses) {
      await using server = await startServer({
        ...command,
        args: [...command.args, ...flags],
        environment: { ...command.environment, HOST: variable },
      });
      const { port } = new URL(server.root);
      assertStringIncludes(server.log(), `Weir listens on http://${host}:${port}/\n`);
      for (const address of addresses) {
        const answer = await fetch(`http://${address}:${port}/healthz`)
          .then(({ status }) => status, () => "refused");
        assertEquals(answer, address === host ? 200 : "refused");
      }
    }
  },
);

testPrograms(
  COMMAND_LINES,
  "prefers flags to the environment, and it to --env-file",
  async (program) => {
    const command = await program.command({ WEIR_MAX_ROWS: "22" });
    await using server = await startServer({
      ...command,
      args: [...command.args, "--env-file", "server.env", "--access", "public"],
      files: {
        ...command.files,
        "server.env":
          "\uFEFFDATASTREAM_API_KEY='a-secret-key'\r\n# Settings\nWEIR_ACCESS=signed\n" +
          "WEIR_MAX_ROWS=11\nexport WEIR_MAX_DOWNLOADS=3\nWEIR_TOKKENS=a-secret-token-0\n",
      },
    });
    await waitFor(() => server.log().includes("Settings: "), "the settings");
    assertMatch(
      server.log(),
      /Settings: WEIR_ACCESS=public, DATASTREAM_API_KEY=\(set\), .* WEIR_MAX_ROWS=22, WEIR_MAX_DOWNLOADS=3, /,
    );
    assertStringIncludes(
      server.log(),
      'Unknown variable WEIR_TOKKENS: did you mean "WEIR_TOKENS"?',
    );
    assertEquals(/a-secret/.test(server.log()), false);
  },
);

testPrograms(
  COMMAND_LINES,
  "exits with 1 and prints no value when the file of --env-file has no variables",
  async (program) => {
    const options = {
      flags: ["--env-file", "no.env"],
      files: { "no.env": "WEIR_TOKENS a-secret-token-00\n" },
    };
    assertEquals(await runToEnd(program, { WEIR_SANDBOX: "1" }, options), {
      code: 1,
      lines: ["no.env has no variables: write lines such as WEIR_ACCESS=public, in UTF-8"],
    });
  },
);
