// Runs two clients concurrently, loaded by `require` and by `import`, and prints the sandbox's statistics.
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
