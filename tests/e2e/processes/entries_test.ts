// The demo says which page to open, or why it does not start, and the server starts with few permissions, or imported by a
// program. `.ci/run` runs curl and opens the URL as the demo prints them.
import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { childCommand, runProgramWith } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";

const RUN = ["run", "--quiet", "--no-prompt"];
const DEMO = [...RUN, "--allow-net=127.0.0.1", "--allow-env=PORT", "edge/demo.ts"];

Deno.test("edge/demo.ts prints a line with the address of its page", async () => {
  const options = { args: DEMO, env: { PORT: "0" }, stdout: "piped", stderr: "null" } as const;
  const child = childCommand(Deno.execPath(), options).spawn();
  const printed = await readUntil(child.stdout, /curl/);
  const [, address] = /^Open (http:\/\/127\.0\.0\.1:\d+\/)$/m.exec(printed) ?? [];
  const page = address && await (await fetch(address)).text();
  child.kill("SIGTERM");
  await child.status;
  assert(page?.includes("<form"), printed);
});

/** Returns the output of a process to the first chunk that completes a match. */
async function readUntil(
  output: ReadableStream<Uint8Array<ArrayBuffer>>,
  end: RegExp,
): Promise<string> {
  let printed = "";
  for await (const text of output.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (end.test(printed)) break;
  }
  return printed;
}

Deno.test("edge/demo.ts prints one line and exits with 1 when PORT is invalid or in use", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  for (const PORT of ["none", String(taken.addr.port)]) {
    const ended = await runProgramWith({ env: { PORT } }, Deno.execPath(), ...DEMO);
    assertEquals(ended!.code, 1);
    assertMatch(ended!.stderr, new RegExp(`^[^\n]*\\bPORT\\b[^\n]*\n$`));
    assertStringIncludes(ended!.stderr, PORT);
  }
});

Deno.test("weir serve reads only permitted variables when --allow-env lists them", async () => {
  const flags = ["--allow-net=127.0.0.1", "--allow-env=WEIR_SANDBOX,PORT", "src/cli/main.ts"];
  const environment = { PORT: "0", WEIR_SANDBOX: "1", WEIR_MAX_ROWS: "none", WEIR_UNKNOWN: "1" };
  const args = [...RUN, ...flags, "serve"];
  const options = { args, env: environment, stdout: "null", stderr: "piped" } as const;
  const child = childCommand(Deno.execPath(), options).spawn();
  const printed = await readUntil(child.stderr, /Settings: .*\n/);
  child.kill("SIGTERM");
  await child.status;
  assertEquals(printed.split("\n").map((line) => line.split(" ")[0]), ["Weir", "Settings:", ""]);
});

Deno.test("edge/serve.ts responds when a program imports it", async () => {
  const program = `import server from ${JSON.stringify(pathToFileURL(`${PROJECT}edge/serve.ts`))};
    const response = await server.fetch(new Request("http://127.0.0.1/Locations.csv?$select=Id&limit=2"));
    console.log(await response.text());`;
  const module = `data:application/javascript,${encodeURIComponent(program)}`;
  const args = [...RUN, "--config=deno.json", "--allow-env", module];
  const ended = await runProgramWith({ env: { WEIR_SANDBOX: "1" } }, Deno.execPath(), ...args);
  assertEquals([ended?.code, ended?.stdout], [0, '"Id"\r\n1001\r\n1008\r\n\n']);
});

Deno.test("the programs of the npm package and of the bundle pass their arguments on, and exit with the code of the command", async () => {
  const run = async (entry: string, ...args: string[]) => {
    const line = [...RUN, "--allow-env", "--allow-read", `src/cli/${entry}.ts`, ...args];
    return (await runProgramWith({}, Deno.execPath(), ...line))!;
  };
  const usage = await run("bin", "fields", "--banana");
  assertEquals(usage.code, 2);
  assertStringIncludes(usage.stderr, "--banana");
  const help = await run("serve_bin", "--help");
  assertEquals(help.code, 0);
  assertStringIncludes(help.stdout, "weir serve");
});
