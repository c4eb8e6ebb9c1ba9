// Loads the package with `import` and prints the CSV of a query.
import { DataStream, eq } from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
const query = client.records({
  select: ["Id", "CharacteristicName", "ResultValue"],
  filter: eq("LocationId", 1015),
});
process.stdout.write(await new Response(query.csv()).text());
