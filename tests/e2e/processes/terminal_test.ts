// Progress and prompts are readable in a real terminal, in tmux.
import { assertEquals, assertMatch } from "@std/assert";
import { denoArguments, FOLDER, withFiles } from "../command_line.ts";
import { needing } from "../needs.ts";
import { hasTmux, shell, Terminal } from "./terminal.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";

Deno.test(needing(
  { tmux: hasTmux },
  "weir redraws one line of progress on a terminal: rows, percent, rate, time left, retries",
  async () => {
    const sandbox = createSandbox({
      hostileNames: true,
      records: 400,
      requestsPerSecond: Infinity,
    });
    const { promise: seen, resolve: proceed } = Promise.withResolvers<void>();
    let pages = 0;
    const handler = async (request: Request) => {
      const { searchParams } = new URL(request.url);
      if (searchParams.has("$skiptoken") && ++pages === 2) {
        await seen;
        return new Response("", { status: 503, headers: { "retry-after": "2" } });
      }
      return sandbox.fetch(request);
    };
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
    const { port } = server.addr;
    const environment = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
    await withFiles(async () => {
      const terminal = new Terminal();
      try {
        const args = denoArguments({ port, hasFiles: true, environment }, [
          ...["records", `--base-url=http://127.0.0.1:${port}/v1/odata/v4`, "--top=100"],
          ...["--select=Id", "--output=a.csv", "--force"],
        ]);
        await terminal.open(100, environment, shell([Deno.execPath(), ...args]));
        const half = await terminal.shows(/rows \(\d+%\)/);
        assertMatch(half, /^[\d,]+ of [\d,]+ rows \(\d+%\), [\d,]+ rows\/s, .* left/);
        assertEquals(half.split("\n").length, 1);
        proceed();
        const retrying = await terminal.shows(
          /Retrying in [12] s \(Records responded with status 503\), \d+ of 400 rows/,
        );
        assertEquals(retrying.split("\n").length, 1);
        const whole = await terminal.shows(/exit 0/);
        assertMatch(
          whole,
          /^400 of 400 rows \(100%\).*\na\.csv: 400 rows, 4 kB, .*\nUse of this/,
        );
        assertEquals(whole.match(/rows \(/g)!.length, 1);
      } finally {
        proceed();
        await terminal.close();
      }
    });
  },
));

Deno.test(needing(
  { tmux: hasTmux },
  "weir setup on a terminal does not show the key, asks before it replaces one, and exits with 130 on Ctrl-C",
  async () => {
    const environment = { XDG_CONFIG_HOME: "config", HOME: "", USERPROFILE: "" };
    const args = denoArguments({ hasFiles: true, environment }, ["setup"]);
    const setup = async (use: (terminal: Terminal) => Promise<void>) => {
      const terminal = new Terminal();
      try {
        await terminal.open(100, environment, shell([Deno.execPath(), ...args]));
        await terminal.shows(/API key \(not shown\):/);
        await use(terminal);
      } finally {
        await terminal.close();
      }
    };
    const saved = () => Deno.readTextFile(`${FOLDER}/config/weir/key`);
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
