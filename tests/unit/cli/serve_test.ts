// Command lines of `weir serve` that start no server. tests/e2e/servers starts it.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const HELP = "For help, run weir serve --help";

const refused: [line: string[], environment: Record<string, string>, message: string][] = [
  [
    [],
    {},
    "--access or WEIR_ACCESS must be one of caller, signed, token, public, got nothing: " +
    "set it, or use --sandbox for synthetic data",
  ],
  [
    ["--access=token", "--sandbox"],
    {},
    "WEIR_TOKENS must be set for token access",
  ],
  [["--sandbox"], { WEIR_ACCESS: "token" }, "WEIR_TOKENS must be set for token access"],
  [["--port", "http", "--sandbox"], { PORT: "9000" }, "--port or PORT must be a whole number from"],
  [["--mirror=none", "--access=public"], {}, "--mirror or WEIR_MIRROR cannot be read ("],
  [
    ["--access=token"],
    { DATASTREAM_API_KEY: "key", WEIR_TOKENS: "a-short-one", WEIR_REQUESTS_PER_SECOND: "2" },
    "WEIR_TOKENS must be tokens",
  ],
];
for (const [line, environment, message] of refused) {
  Deno.test(`weir serve prints ${message} when called with ${line.join(" ")}`, async () => {
    const { code, errors, output } = await weir(["serve", ...line], { environment });
    assertEquals([code, output, errors.at(-1), errors.length], [2, "", HELP, 2]);
    assertStringIncludes(errors[0]!, message);
    assertEquals(errors.join().includes("a-short-one"), false);
  });
}

Deno.test("weir serve prints unknown variables when it starts", async () => {
  const { errors } = await weir(["serve"], { environment: { WEIR_ACCES: "public" } });
  assertEquals(errors[0], 'Unknown variable WEIR_ACCES: did you mean "WEIR_ACCESS"?');
  assertStringIncludes(errors[1]!, "WEIR_ACCESS must be one of");
});

Deno.test("weir serve exits with 1 when it cannot read the file of variables", async () => {
  const { code, errors } = await weir(["serve", "--sandbox", "--env-file", "no.env"]);
  assertEquals([code, errors.length], [1, 1]);
  assertStringIncludes(errors[0]!, "Cannot read no.env: ");
  assertStringIncludes(errors[0]!, ": check the path of --env-file");
});
