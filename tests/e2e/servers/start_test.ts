// Where the servers listen, which settings they prefer, and what they print when they cannot start.
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { waitFor } from "../wait_for.ts";
import { oldNodeMessage } from "../../../src/node_version.ts";
import { COMMAND_LINES, DEFAULT_EXPORTS, OLD_NODE_SERVERS, testPrograms } from "./runtimes.ts";
import { type ServerOptions, startServer } from "./server.ts";

/** Asserts that a program ends with 1, and prints only a message. */
async function assertFails(options: ServerOptions, message: string): Promise<void> {
  // A message can have an address, so this must not match.
  const port = /(?!)/;
  const error = await assertRejects(() => startServer({ ...options, port }), Error);
  assertEquals(error.message, `${options.program} has ended with 1: ${message}\n`);
}

testPrograms(
  DEFAULT_EXPORTS,
  "prints a message and exits with 1 when a value is invalid",
  async (program) =>
    await assertFails(
      await program.command({ WEIR_SANDBOX: "1", WEIR_MAX_ROWS: "many" }),
      'Not serving: WEIR_MAX_ROWS must be a whole number of at least 1, got "many"',
    ),
);

testPrograms(
  OLD_NODE_SERVERS,
  "prints a message and exits with 1",
  async (program) => {
    const command = await program.command({ WEIR_SANDBOX: "1" });
    const [version] = /[\d.]+$/.exec(program.name)!;
    await assertFails(command, oldNodeMessage({ node: version })!);
  },
);

testPrograms(
  COMMAND_LINES,
  "prints a message and exits with 1 when the port is in use",
  async (program) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    await assertFails(
      await program.command({ WEIR_SANDBOX: "1", PORT: String(port) }),
      `Cannot listen on http://127.0.0.1:${port}/: another program uses this port: choose another port, or stop that program`,
    );
  },
);

testPrograms(
  COMMAND_LINES,
  "listens only on the address of --host, or else of HOST",
  async (program) => {
    const command = await program.command({ WEIR_SANDBOX: "1" });
    // On 127.0.0.1 other tests listen, perhaps on the same port: asks 127.0.0.3 instead.
    for (const [host, ...flags] of [["127.0.0.2"], ["127.0.0.1", "--host", "127.0.0.1"]]) {
      await using server = await startServer({
        ...command,
        args: [...command.args, ...flags],
        environment: { ...command.environment, HOST: "127.0.0.2" },
      });
      const { port } = new URL(server.root);
      assertStringIncludes(server.log(), `Weir listens on http://${host}:${port}/\n`);
      for (const address of [host, "127.0.0.3"]) {
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
    const command = await program.command({ WEIR_SANDBOX: "1" });
    await assertFails({
      ...command,
      args: [...command.args, "--env-file", "no.env"],
      files: { ...command.files, "no.env": "WEIR_TOKENS a-secret-token-00\n" },
    }, "no.env has no variables: write lines such as WEIR_ACCESS=public, in UTF-8");
  },
);
