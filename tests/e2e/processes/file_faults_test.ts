// A message names a missing permission, and a second signal ends a process that is stalled.
import { assertEquals, assertMatch } from "@std/assert";
import { fileNames, runToEnd, serving, start, withFiles } from "../command_line.ts";

Deno.test("weir does not report a directory as missing when it may not be read", () =>
  withFiles(async () => {
    const line = ["records", "--sandbox", "--limit=1", "--output=a.csv"];
    const { code, stderr } = await runToEnd({}, ...line);
    assertEquals([code, await fileNames()], [1, []]);
    assertMatch(stderr, /^Requires read access to ".", run again with the --allow-read flag\n$/);
  }));

Deno.test("weir says how to permit reading the saved key", () =>
  withFiles(async () => {
    const environment = { XDG_CONFIG_HOME: "config", DATASTREAM_API_KEY: "" };
    const { code, stderr } = await runToEnd({ environment }, "records", "--limit=1");
    assertEquals(code, 2);
    assertMatch(
      stderr,
      /setup \(its file cannot be read: .*"config.weir.key", .* --allow-read flag\); request a key/,
    );
    const allowed = await runToEnd({ environment, hasFiles: true }, "records", "--limit=1");
    assertMatch(allowed.stderr, /run weir setup; request a key/);
  }));

Deno.test("weir exits on a second signal while the reader of a text is stalled", () => {
  const Citation = "c".repeat(1_000_000);
  const dataset = { DOI: "10.25976/weir-aa00", DatasetName: "D", Version: "1", Licence: "L" };
  return serving(
    () => Response.json({ value: [{ ...dataset, Citation }] }),
    async (line, baseUrl) => {
      const child = start(line, "cite", baseUrl);
      const reader = child.stdout.getReader();
      await reader.read(); // and no more: what is left fills the pipe
      child.kill("SIGINT");
      child.kill("SIGTERM"); // two of one kind may come as one
      const deadline = setTimeout(() => child.kill("SIGKILL"), 100_000);
      const { code } = await child.status;
      clearTimeout(deadline);
      assertEquals(code, 130);
      await reader.cancel();
      await child.stderr.cancel();
    },
  );
});
