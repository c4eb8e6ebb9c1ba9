import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { endpoint, toRequest } from "../../mod.ts";

const runs = { numRuns: 5_000, seed: 1 };
const base = "https://example.org/root";
const text = fc.string({ unit: "grapheme" });

Deno.test("endpoint() gives a query that any reader decodes to what was passed", () => {
  const reserved = ["method", "url", "baseUrl", "headers", "mediaType", "data", "request"];
  const name = text.filter((name) =>
    name !== "" && name !== "__proto__" && !reserved.includes(name)
  );
  fc.assert(
    fc.property(fc.dictionary(name, text), (parameters) => {
      const { url } = endpoint("/x", { ...parameters, baseUrl: base });
      // Nothing that a strict gateway refuses, and nothing that fetch would change.
      assertMatch(url, /^https:\/\/example\.org\/root\/x(\?[\w.~%=&-]*)?$/);
      assertEquals(toRequest(endpoint(url)).url, url);
      assertEquals([...new URL(url).searchParams].sort(), Object.entries(parameters).sort());
    }),
    runs,
  );
});

Deno.test("endpoint() gives a path that no value can leave", () => {
  fc.assert(
    fc.property(text.filter((value) => !/^\.{0,2}$/.test(value)), (id) => {
      const { url } = endpoint("/x/{id}/y", { id, baseUrl: base });
      const { origin, pathname } = new URL(url);
      assertEquals(origin, "https://example.org");
      const [, root, x, value, y, ...rest] = pathname.split("/");
      assertEquals([root, x, decodeURIComponent(value!), y, rest], ["root", "x", id, "y", []]);
    }),
    runs,
  );
});
