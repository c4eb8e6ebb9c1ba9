// Prints the yearly median of total phosphorus at each location in a bounding box.
import { and, DataStream, eq } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new DataStream({ apiKey: Deno.env.get("DATASTREAM_API_KEY") });

const phosphorus = eq("CharacteristicName", "Total Phosphorus, mixed forms");
const query = client.observations({
  filter: and(phosphorus, eq("ActivityMediaName", "Surface Water")),
  within: { west: -64.5, south: 45.9, east: -62, north: 47.1 },
});
const rows = (await query.toArray()).filter((row) => !row.ActivityType.startsWith("Quality"));
const groups = Map.groupBy(rows, ({ LocationId, ActivityStartDate }) => {
  return `${LocationId} ${ActivityStartDate?.slice(0, 4) ?? "none"}`;
});

const table = [...groups].sort().map(([group, results]) => {
  // Results without a value are counted by their condition. No value replaces them.
  const { "mg/L": measured = [], ...others } = Object.groupBy(
    results,
    (row) => row.ResultDetectionCondition ?? row.ResultUnit ?? "no unit",
  );
  const values = measured.map((row) => row.ResultValue!).sort((a, b) => a - b);
  const [low, high] = [values[(values.length - 1) >> 1], values[values.length >> 1]];
  const median = low === undefined ? "" : ((low + high!) / 2).toFixed(4);
  const [location, year] = group.split(" ");
  const other = Object.entries(others).map(([name, rows]) => `${rows!.length} ${name}`).join(", ");
  return { location, year, values: values.length, "median in mg/L": median, other };
});
console.table(table);
