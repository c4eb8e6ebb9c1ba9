// A key is sent without the white space around it, and a message says where to request one.
import "../../helpers/no_permission.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { record } from "./transcript.ts";

for (const [status, end] of [[401, "\n"], [403, "\r\n"], [403, "  "]] as const) {
  Deno.test(`weir says once where to request a key when the service answers a key with ${JSON.stringify(end)} by ${status}`, async () => {
    let sent: string | null = null;
    const { errors } = await record({
      line: ["locations"],
      environment: { DATASTREAM_API_KEY: ` key-of-a-test${end}` },
      answer({ headers }) {
        sent = headers.get("x-api-key");
        return Response.json({ message: "no" }, { status });
      },
    });
    assertEquals(sent, "key-of-a-test");
    const text = errors.join("\n");
    const url = "https://github.com/datastreamapp/api-docs/blob/main/docs/README.md";
    assertEquals(text.split(`request one at ${url}`).length, 2);
    assertStringIncludes(text, "Set DATASTREAM_API_KEY, or save the key with weir setup");
    assertEquals(text.includes("key-of-a-test"), false);
  });
}
