// Progress and prompts are readable in a real terminal, in tmux.
import { assertEquals, assertMatch } from "@std/assert";
import { commandOf, readFile, serving, testWithFiles, withFiles } from "../command_line.ts";
import { testNeeding } from "../needs.ts";
import { hasTmux, onTerminal, type Terminal } from "./terminal.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

testNeeding(
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
      await onTerminal(100, line.environment!, commandOf(line, ...args), async (terminal) => {
        const half = await terminal.shows(/rows \(\d+%\)/);
        assertMatch(half, /^[\d,]+ of [\d,]+ rows \(\d+%\), [\d,]+ rows\/s, [^\n]* left$/);
        proceed();
        const retrying = await terminal.shows(
          /Retrying in [12] s, \d+ of 400 rows \(\d+%\): DataStream has not answered since \d\d:\d\d UTC/,
        );
        assertEquals(retrying.split("\n").length, 1);
        const whole = await terminal.shows(/exit 0/);
        assertMatch(whole, /^400 of 400 rows \(100%\).*\na\.csv: 400 rows, 4 kB, .*\nUse of this/);
        assertEquals(whole.match(/rows \(/g)!.length, 1);
      });
    });
  },
);

testWithFiles(
  "weir writes plain lines on a terminal when TERM is dumb, and does not ask when it may not read TERM",
  async () => {
    const args = ["locations", "--sandbox", "--select=Id", "--limit=40", "--top=20"];
    const environment = { TERM: "dumb", WEIR_REQUESTS_PER_SECOND: "Infinity" };
    const dumb = commandOf({ hasFiles: true, environment }, ...args, "--output=a.csv");
    const denied = commandOf({ hasFiles: true }, ...args, "--output=b.csv")
      .filter((word) => !/^--(no-prompt|allow-env)/.test(word));
    const screenAfter = (...command: string[]) =>
      onTerminal(100, environment, command, (terminal) => terminal.shows(/exit 0/));
    assertMatch(
      await screenAfter("env", "TERM=dumb", ...dumb),
      /^20 of 40 rows \(50%\), .*\n40 of 40 rows \(100%\), .*\na\.csv: 40 rows, /,
    );
    assertMatch(await screenAfter(...denied), /^(40 of .*\n)?b\.csv: 40 rows, .*\nexit 0$/);
  },
  { tmux: hasTmux },
);

testNeeding(
  { tmux: hasTmux },
  "weir setup on a terminal does not show the key, asks before it replaces one, and exits with 130 on Ctrl-C",
  async () => {
    const environment = { XDG_CONFIG_HOME: "config", HOME: "", USERPROFILE: "" };
    const command = commandOf({ hasFiles: true, environment }, "setup");
    const setup = (use: (terminal: Terminal) => Promise<void>) =>
      onTerminal(100, environment, command, async (terminal) => {
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
);
