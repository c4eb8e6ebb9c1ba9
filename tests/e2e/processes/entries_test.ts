// The demo works, the server starts with the permissions of the documents, and programs import it.
import { pathToFileURL } from "node:url";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { childCommand } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";

/** Starts a program of the project. The test reads the stream `output`. */
function startEntry(
  args: string[],
  environment: Record<string, string>,
  output: "stdout" | "stderr",
): Deno.ChildProcess {
  return childCommand(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", ...args],
    env: environment,
    stdin: "null",
    stdout: output === "stdout" ? "piped" : "null",
    stderr: output === "stderr" ? "piped" : "null",
  }).spawn();
}

/** Reads a stream until its text matches, and leaves it open. */
async function readUntil(stream: ReadableStream<Uint8Array>, text: RegExp): Promise<string> {
  let printed = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream.values({ preventCancel: true })) {
    printed += decoder.decode(chunk, { stream: true });
    if (text.test(printed)) return printed;
  }
  throw new Error(`The stream ended after: ${printed}`);
}

/** Stops a server. Returns whether it exited with 0. */
async function end(child: Deno.ChildProcess, output: "stdout" | "stderr"): Promise<boolean> {
  child.kill("SIGTERM");
  await child[output].cancel();
  return (await child.status).success;
}
const DEMO = ["--allow-net=127.0.0.1", "--allow-env=PORT"];
Deno.test("edge/demo.ts prints the URLs of its page and its downloads, and serves them", async () => {
  const preload = ["--preload=tests/e2e/processes/end_on_signal.ts"];
  const child = startEntry([...DEMO, ...preload, "edge/demo.ts"], { PORT: "0" }, "stdout");
  try {
    const printed = await readUntil(child.stdout, /curl .*\n/);
    assert(printed.split("\n").length - 1 <= 12, printed);
    const lineOf = (label: string) =>
      new RegExp(`^ +${label} {2,}(.*)$`, "m").exec(printed)?.[1] ?? `no line "${label}"`;
    const shown = await fetch(lineOf("Web page"));
    assertEquals([shown.status, (await shown.text()).includes("<form")], [200, true]);
    const head = await fetch(lineOf("All records"), { method: "HEAD" });
    assertEquals([head.status, head.headers.get("content-type")], [200, "text/csv; charset=utf-8"]);
    const [filtered = ""] = lineOf("curl").match(/http:[^']+/) ?? [];
    assertEquals(lineOf("R"), `ph <- read.csv("${filtered}")`);
    assertEquals(lineOf("Python"), `ph = pd.read_csv("${filtered}")`);
    const download = await fetch(filtered);
    assertEquals(download.headers.get("x-weir-data"), "synthetic");
    const [, first = ""] = (await download.text()).split("\r\n");
    assertStringIncludes(first, ",pH,");
  } finally {
    assert(await end(child, "stdout"));
  }
});

Deno.test("edge/demo.ts prints one line and exits with 1 when PORT is invalid or in use", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port: takenPort } = taken.addr as Deno.NetAddr;
  for (const port of ["none", "65536", String(takenPort)]) {
    const child = startEntry([...DEMO, "edge/demo.ts"], { PORT: port }, "stderr");
    const [printed, { code }] = await Promise.all([
      new Response(child.stderr).text(),
      child.status,
    ]);
    assertEquals(code, 1, printed);
    assertMatch(printed, /^[^\n]*\bPORT\b[^\n]*\n$/);
    assertStringIncludes(printed, port);
  }
});

Deno.test("weir serve reads only permitted variables when --allow-env lists them", async () => {
  const flags = ["--allow-net=127.0.0.1", "--allow-env=WEIR_SANDBOX,PORT", "src/cli/main.ts"];
  const environment = { PORT: "0", WEIR_SANDBOX: "1", WEIR_MAX_ROWS: "none", WEIR_UNKNOWN: "1" };
  const child = startEntry([...flags, "serve"], environment, "stderr");
  const printed = await readUntil(child.stderr, /Settings: .*\n/);
  assertEquals(printed.split("\n").map((line) => line.split(" ")[0]), ["Weir", "Settings:", ""]);
  assert(await end(child, "stderr"));
});

Deno.test("edge/serve.ts responds when a program imports it", async () => {
  const program = `import server from ${JSON.stringify(pathToFileURL(`${PROJECT}edge/serve.ts`))};
    const response = await server.fetch(new Request("http://127.0.0.1/Locations.csv?$select=Id&limit=2"));
    console.log((await response.text()).split("\\r\\n").length);`;
  const module = `data:application/javascript,${encodeURIComponent(program)}`;
  const environment = { WEIR_SANDBOX: "1" };
  const child = startEntry(["--config=deno.json", "--allow-env", module], environment, "stdout");
  assertEquals(await new Response(child.stdout).text(), `${1 + 2 + 1}\n`);
  assert((await child.status).success);
});
