// Keys from the environment, and where to request one.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

/** Returns the lines of standard error of a request that the service answers with a status. */
async function refusedWith(
  status: number,
  key: string,
): Promise<{ errors: string[]; sent: string[] }> {
  const sent: string[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = (input) => {
    sent.push(new Request(input).headers.get("x-api-key") ?? "");
    return Promise.resolve(Response.json({ message: "no" }, { status }));
  };
  try {
    const environment = { DATASTREAM_API_KEY: key };
    const line = ["locations", "--base-url=https://service.example/v1"];
    return { errors: (await weir(line, { environment })).errors, sent };
  } finally {
    globalThis.fetch = fetch;
  }
}

for (const status of [401, 403]) {
  Deno.test(`weir says once where to request a key when the service answers ${status}`, async () => {
    const { errors } = await refusedWith(status, "key-of-a-test");
    const text = errors.join("\n");
    assertEquals(
      text.split(
        "request one at https://github.com/datastreamapp/api-docs/blob/main/docs/README.md",
      ).length,
      2,
    );
    assertStringIncludes(text, "Set DATASTREAM_API_KEY, or save the key with weir setup");
    assertEquals(text.includes("key-of-a-test"), false);
  });
}

for (const [name, end] of [["a line feed", "\n"], ["CRLF", "\r\n"], ["spaces", "  "]] as const) {
  Deno.test(`weir trims DATASTREAM_API_KEY when it ends with ${name}`, async () => {
    const { sent } = await refusedWith(403, ` key-of-a-test${end}`);
    assertEquals(sent, ["key-of-a-test"]);
  });
}
