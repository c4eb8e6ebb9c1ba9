// Two clients at once, one by `require` and one by `import`; prints what the sandbox has seen.
const { DataStream } = require("@weir/datastream");
const { createSandbox } = require("@weir/datastream/sandbox");

async function main() {
  const { apiKey, url, fetch, stats } = createSandbox();
  const options = { apiKey, baseUrl: url, fetch };
  const imported = await import("@weir/datastream");
  const clients = [new DataStream(options), new imported.DataStream(options)];
  await Promise.all(clients.map((client) => client.locations({ top: 40 }).toArray()));
  console.log(JSON.stringify(stats));
}

main();
