// Checks that `require` and `import` give the same types.
import weir = require("@weir/datastream");
import cli = require("@weir/datastream/cli");
import edge = require("@weir/datastream/edge");
import endpoint = require("@weir/datastream/endpoint");
import sandbox = require("@weir/datastream/sandbox");

type Weir = typeof import("@weir/datastream", { with: { "resolution-mode": "import" }});
type Cli = typeof import("@weir/datastream/cli", { with: { "resolution-mode": "import" }});
type Edge = typeof import("@weir/datastream/edge", { with: { "resolution-mode": "import" }});
type Builder = typeof import("@weir/datastream/endpoint", { with: { "resolution-mode": "import" }});
type Sandbox = typeof import("@weir/datastream/sandbox", { with: { "resolution-mode": "import" }});

type Same<A, B> = [A, keyof A] extends [B, keyof B] ? [B, keyof B] extends [A, keyof A] ? true
  : false
  : false;
export const same: [
  Same<typeof weir, Weir>,
  Same<typeof cli, Cli>,
  Same<typeof edge, Edge>,
  Same<typeof endpoint, Builder>,
  Same<typeof sandbox, Sandbox>,
] = [true, true, true, true, true];

export const client: weir.DataStream = new weir.DataStream({
  fetch: sandbox.createSandbox().fetch,
});
export const imported: InstanceType<Weir["DataStream"]> = client;
export type Rows = weir.Query<weir.Row<"Records">>;
// @ts-expect-error unknown property
client.nothing;
