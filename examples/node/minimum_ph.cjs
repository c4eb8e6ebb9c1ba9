// Prints the five observations with the lowest pH. require() needs Node 20.19, 22.12 or later.
const { and, DataStream, eq, lt } = require("@weir/datastream");
const { createSandbox } = require("@weir/datastream/sandbox");

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: process.env.DATASTREAM_API_KEY });

async function main() {
  const rows = [];
  const query = client.observations({
    select: ["LocationId", "ActivityStartDate", "ResultValue"],
    filter: and(eq("CharacteristicName", "pH"), lt("ActivityStartYear", 2015)),
  });
  for await (const row of query) {
    if (row.ResultValue !== null) rows.push(row);
  }
  rows.sort((a, b) => a.ResultValue - b.ResultValue);
  for (const { LocationId, ActivityStartDate, ResultValue } of rows.slice(0, 5)) {
    console.log(LocationId, ActivityStartDate, ResultValue);
  }
}

main();
