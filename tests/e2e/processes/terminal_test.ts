// Progress and prompts are readable in a real terminal, in tmux.
import { assertEquals, assertMatch } from "@std/assert";
import { type CommandLine, denoArguments, readFile, serving, withFiles } from "../command_line.ts";
import { needing } from "../needs.ts";
import { hasTmux, shell, Terminal } from "./terminal.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

/** Opens a terminal that runs weir, uses it, and closes it. */
async function onTerminal(
  line: CommandLine,
  args: string[],
  use: (terminal: Terminal) => Promise<void>,
): Promise<void> {
  const terminal = new Terminal();
  try {
    const words = [Deno.execPath(), ...denoArguments(line, args)];
    await terminal.open(100, line.environment ?? {}, shell(words));
    await use(terminal);
  } finally {
    await terminal.close();
  }
}

Deno.test(needing(
  { tmux: hasTmux },
  "weir redraws one line of progress on a terminal: rows, percent, rate, time left, retries",
  () => {
    const sandbox = createSandbox({ records: 400, requestsPerSecond: Infinity });
    const { promise: seen, resolve: proceed } = Promise.withResolvers<void>();
    let pages = 0;
    return serving(async (request) => {
      if (!request.url.includes("skiptoken") || ++pages !== 2) return await sandbox.fetch(request);
      await seen;
      return new Response("", { status: 503, headers: { "retry-after": "2" } });
    }, async (line, baseUrl) => {
      const args = ["records", baseUrl, "--top=100", "--select=Id", "--output=a.csv"];
      await onTerminal(line, args, async (terminal) => {
        const half = await terminal.shows(/rows \(\d+%\)/);
        assertMatch(half, /^[\d,]+ of [\d,]+ rows \(\d+%\), [\d,]+ rows\/s, [^\n]* left$/);
        proceed();
        const retrying = await terminal.shows(
          /Retrying in [12] s \(Records responded with status 503\), \d+ of 400 rows/,
        );
        assertEquals(retrying.split("\n").length, 1);
        const whole = await terminal.shows(/exit 0/);
        assertMatch(whole, /^400 of 400 rows \(100%\).*\na\.csv: 400 rows, 4 kB, .*\nUse of this/);
        assertEquals(whole.match(/rows \(/g)!.length, 1);
      });
    });
  },
));

Deno.test(needing(
  { tmux: hasTmux },
  "weir setup on a terminal does not show the key, asks before it replaces one, and exits with 130 on Ctrl-C",
  async () => {
    const environment = { XDG_CONFIG_HOME: "config", HOME: "", USERPROFILE: "" };
    const setup = (use: (terminal: Terminal) => Promise<void>) =>
      onTerminal({ hasFiles: true, environment }, ["setup"], async (terminal) => {
        await terminal.shows(/API key \(not shown\):/);
        await use(terminal);
      });
    const saved = () => readFile("config/weir/key");
    await withFiles(async () => {
      await setup(async (terminal) => {
        await terminal.type("key-of-a-test", "Enter");
        assertEquals((await terminal.shows(/exit 0/)).includes("key-of-a-test"), false);
      });
      assertEquals(await saved(), "key-of-a-test\n");
      for (const [answer, code, key] of [["n", 1, "key-of-a-test\n"], ["y", 0, "other-key\n"]]) {
        await setup(async (terminal) => {
          await terminal.type("other-key", "Enter");
          await terminal.shows(/config.weir.key already has a key\. Replace it\? \(y\/N\)/);
          await terminal.type(`${answer}`, "Enter");
          await terminal.shows(new RegExp(`exit ${code}`));
        });
        assertEquals(await saved(), key);
      }
      await setup(async (terminal) => {
        await terminal.type("C-c");
        await terminal.shows(/exit 130/);
      });
    });
  },
));
