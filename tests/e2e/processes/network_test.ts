// A person learns from each runtime's own errors what to check: the name, the server or the certificate. Retries are
// reported also without rows; tests/unit/cli/retries_test.ts has the commands that need no file.
import { assertEquals, assertMatch } from "@std/assert";
import {
  commandOf,
  FOLDER,
  PROGRAMS,
  type Runtime,
  runToEnd,
  serving,
  testWithFiles,
  writeBundle,
} from "../command_line.ts";
import { LOOPBACK_CERTIFICATE } from "../loopback_certificate.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { childCommand } from "../../helpers/programs.ts";

/** A label of a host name has at most 63 characters, so that nobody is asked for this name. */
const UNKNOWN = `${"a".repeat(64)}.invalid`;
const CHECK = "--base-url (or DATASTREAM_BASE_URL)";

/** Runs `weir records --count`, and returns its first line. A retry is not awaited. */
async function firstLine(runtime: Runtime, address: string): Promise<string> {
  const environment = { DATASTREAM_API_KEY: "a-key" };
  const line = { runtime, port: 0, environment };
  const [program, ...args] = commandOf(
    line,
    "records",
    "--count",
    `--base-url=https://${address}/v1`,
  );
  const child = childCommand(program, {
    args: args.map((word) => word.startsWith("--allow-net") ? "--allow-net" : word),
    cwd: FOLDER,
    env: environment,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let printed = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    printed += text;
    if (printed.includes("\n")) break;
  }
  child.kill("SIGKILL");
  await child.status;
  return printed.split("\n")[0]!;
}

for (const runtime of Object.keys(PROGRAMS) as Runtime[]) {
  testWithFiles(
    `weir in ${runtime} says what to check when the name is unknown, the server refuses, or its certificate is unknown`,
    async () => {
      await writeBundle();
      const secure = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {}, ...LOOPBACK_CERTIFICATE },
        () => new Response(),
      );
      const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const refusing = `127.0.0.1:${closed.addr.port}`;
      closed.close();
      const untrusted = `127.0.0.1:${secure.addr.port}`;
      const [name, refused, certificate] = await Promise.all(
        [UNKNOWN, refusing, untrusted].map((address) => firstLine(runtime, address)),
      );
      await secure.shutdown();
      const outage = (text: string) =>
        new RegExp(
          `^DataStream has not answered since \\d\\d:\\d\\d UTC ${text.replace(/[().]/g, "\\$&")}$`,
        );
      const waits = "so weir waits and tries again";
      assertMatch(
        name!,
        outage(`(name not found), ${waits}: check your network connection and ${CHECK}`),
      );
      assertMatch(
        refused!,
        outage(`(connection refused), ${waits}: check ${CHECK}, and that its server runs`),
      );
      const variables = runtime === "Deno"
        ? "DENO_TLS_CA_STORE=system"
        : "NODE_USE_SYSTEM_CA=1 (Node 22.19 or later), or NODE_EXTRA_CA_CERTS=FILE";
      assertEquals(
        certificate,
        `The certificate of ${untrusted} has an unknown issuer: if your network inspects TLS, set ${variables}`,
      );
    },
    { [runtime]: PROGRAMS[runtime] },
  );
}

Deno.test("weir verify --online reports an outage after two seconds", () => {
  const sandbox = createSandbox({ requestsPerSecond: Infinity });
  let busy = 0;
  return serving(
    (request) =>
      busy-- > 0
        ? new Response("", { status: 503, headers: { "retry-after": "2" } })
        : sandbox.fetch(request),
    async (line, baseUrl) => {
      await runToEnd(line, "locations", baseUrl, "--quiet", "--output=a.csv");
      busy = 1;
      const { code, stderr } = await runToEnd(line, "verify", "a.csv", "--online", baseUrl);
      assertEquals(code, 0);
      assertMatch(
        stderr,
        /^DataStream has not answered since \d\d:\d\d UTC \(status 503\), so weir waits and tries again\n$/,
      );
    },
  );
});
