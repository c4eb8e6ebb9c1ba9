// Versions of Node that are too old are named, and no others. The documents and package.json have the same versions.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { NODE_ENGINES, NODE_VERSIONS, oldNodeMessage } from "../../../src/node_version.ts";
import { PROJECT } from "../../helpers/project.ts";

Deno.test("oldNodeMessage() names an old Node, and what to install", () => {
  const message = "Node 18.20.8 is too old: install Node 20.19, 22.12 or later";
  assertEquals(oldNodeMessage({ node: "18.20.8" }), message);
  const isOld = (node: string) => oldNodeMessage({ node }) !== undefined;
  const old = ["0.12.18", "9.11.2", "18.20.8", "19.9.0", "20.9.0", "20.18.3", "21.7.3", "22.11.0"];
  assertEquals(old.filter((version) => !isOld(version)), []);
  const supported = [
    "20.19.0",
    "20.20.2",
    "22.12.0",
    "23.0.0",
    "24.1.0",
    "26.10.0",
    "100.0.0-rc.1",
  ];
  assertEquals(supported.filter(isOld), []);
});

Deno.test("oldNodeMessage() ignores the version of Node that Deno, Bun and other programs have", () => {
  const others = [undefined, {}, { node: "20.9.0", deno: "2.0.0" }, {
    node: "20.9.0",
    bun: "1.0.0",
  }];
  assertEquals(others.map((versions) => oldNodeMessage(versions)), others.map(() => undefined));
});

Deno.test("package.json and the documents have the supported versions of Node", async () => {
  assertEquals(NODE_ENGINES, "^20.19.0 || >=22.12.0");
  for (
    const file of [
      "docs/cli.md",
      "docs/client.md",
      "docs/deploying.md",
      "CHANGELOG.md",
      "edge/node.ts",
    ]
  ) {
    assertStringIncludes(await Deno.readTextFile(PROJECT + file), `Node ${NODE_VERSIONS}`, file);
  }
});
