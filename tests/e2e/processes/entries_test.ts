// The demo works, the server starts with the permissions of the documents, and programs import it.
import { pathToFileURL } from "node:url";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { childCommand, runProgramWith } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";

const RUN = ["run", "--quiet", "--no-prompt"];
const DEMO = [...RUN, "--allow-net=127.0.0.1", "--allow-env=PORT"];

/** Starts a server, and ends it when its output matches; returns the output until then. */
async function printedBy(
  args: string[],
  env: Record<string, string>,
  output: "stdout" | "stderr",
  text: RegExp,
  use: (printed: string) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const streams = { stdout: "null", stderr: "null", [output]: "piped" } as const;
  const child = childCommand(Deno.execPath(), { args, env, ...streams }).spawn();
  let printed = "";
  const decoder = new TextDecoder();
  for await (const chunk of child[output]) {
    printed += decoder.decode(chunk, { stream: true });
    if (!text.test(printed)) continue;
    await use(printed);
    break;
  }
  child.kill("SIGTERM");
  await child.status;
  return printed;
}

Deno.test("edge/demo.ts prints the URLs of its page and its downloads, and serves them", async () => {
  // So that Deno writes the coverage of the process.
  const preload = "--preload=tests/e2e/processes/end_on_signal.ts";
  const args = [...DEMO, preload, "edge/demo.ts"];
  await printedBy(args, { PORT: "0" }, "stdout", /curl .*\n/, async (printed) => {
    const urlOf = (label: string) =>
      new RegExp(`^ +${label} .*?(http://[^'\\s]+)`, "m").exec(printed)![1]!;
    assertStringIncludes(await (await fetch(urlOf("Web page"))).text(), "<form");
    const filtered = urlOf("curl");
    assertStringIncludes(printed, `ph <- read.csv("${filtered}")\n`);
    assertStringIncludes(printed, `ph = pd.read_csv("${filtered}")\n`);
    const [, first] = (await (await fetch(filtered)).text()).split("\r\n");
    assertStringIncludes(first!, ",pH,");
  });
});

Deno.test("edge/demo.ts prints one line and exits with 1 when PORT is invalid or in use", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  for (const PORT of ["none", String(taken.addr.port)]) {
    const ended = await runProgramWith({ env: { PORT } }, Deno.execPath(), ...DEMO, "edge/demo.ts");
    assertEquals(ended!.code, 1);
    assertMatch(ended!.stderr, new RegExp(`^[^\n]*\\bPORT\\b[^\n]*\n$`));
    assertStringIncludes(ended!.stderr, PORT);
  }
});

Deno.test("weir serve reads only permitted variables when --allow-env lists them", async () => {
  const flags = ["--allow-net=127.0.0.1", "--allow-env=WEIR_SANDBOX,PORT", "src/cli/main.ts"];
  const environment = { PORT: "0", WEIR_SANDBOX: "1", WEIR_MAX_ROWS: "none", WEIR_UNKNOWN: "1" };
  const args = [...RUN, ...flags, "serve"];
  const printed = await printedBy(args, environment, "stderr", /Settings: .*\n/);
  assertEquals(printed.split("\n").map((line) => line.split(" ")[0]), ["Weir", "Settings:", ""]);
});

Deno.test("edge/serve.ts responds when a program imports it", async () => {
  const program = `import server from ${JSON.stringify(pathToFileURL(`${PROJECT}edge/serve.ts`))};
    const response = await server.fetch(new Request("http://127.0.0.1/Locations.csv?$select=Id&limit=2"));
    console.log(await response.text());`;
  const module = `data:application/javascript,${encodeURIComponent(program)}`;
  const args = [...RUN, "--config=deno.json", "--allow-env", module];
  const ended = await runProgramWith({ env: { WEIR_SANDBOX: "1" } }, Deno.execPath(), ...args);
  assertEquals([ended?.code, ended?.stdout], [0, "Id\r\n1001\r\n1008\r\n\n"]);
});
