// Loads the package with `require` and prints the CSV of a query.
const { DataStream, eq } = require("@weir/datastream");
const { createSandbox } = require("@weir/datastream/sandbox");

const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
const query = client.records({
  select: ["Id", "CharacteristicName", "ResultValue"],
  filter: eq("LocationId", 1015),
});
new Response(query.csv()).text().then((csv) => process.stdout.write(csv));
