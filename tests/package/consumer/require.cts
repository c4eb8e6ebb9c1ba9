// Loads the package with `require`: its types are those of `import`.
import weir = require("@weir/datastream");
import sandbox = require("@weir/datastream/sandbox");

type Weir = typeof import("@weir/datastream", { with: { "resolution-mode": "import" }});

export const client: weir.DataStream = new weir.DataStream({
  fetch: sandbox.createSandbox().fetch,
});
export const imported: InstanceType<Weir["DataStream"]> = client;
export type Rows = weir.Query<weir.Row<"Records">>;
// @ts-expect-error unknown property
client.nothing;
