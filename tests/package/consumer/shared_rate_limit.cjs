// Sends requests concurrently from clients and an app, loaded by `require` and by `import` from several
// entry points, and prints the sandbox's statistics.
const { DataStream, ValidationError } = require("@weir/datastream");
const { createApp } = require("@weir/datastream/edge");
const { createSandbox } = require("@weir/datastream/sandbox");

async function main() {
  const { apiKey, url, fetch, stats } = createSandbox();
  const options = { apiKey, baseUrl: url, fetch };
  const imported = await import("@weir/datastream");
  const { ValidationError: builderError } = await import("@weir/datastream/endpoint");
  const app = createApp({ ...options, access: "public", log: () => {} });
  const clients = [new DataStream(options), new imported.DataStream(options)];
  await Promise.all([
    ...clients.map((client) => client.locations({ top: 40 }).toArray()),
    app.request("/Locations.csv?limit=5").then((response) => response.text()),
  ]);
  console.log(JSON.stringify({ ...stats, hasOneError: ValidationError === builderError }));
}

main();
