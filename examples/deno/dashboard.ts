// Serves results as JSON for a chart: /?locations=1064,1155&characteristic=pH&from=2020&to=2022
import * as weir from "@weir/datastream";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new weir.DataStream({ apiKey, baseUrl: url, fetch });
// Real data:
// const client = new weir.DataStream({ apiKey: Deno.env.get("DATASTREAM_API_KEY") });

const { and, eq, gte, isIn, lte } = weir;
const port = Number(Deno.env.get("PORT") ?? 8005);
Deno.serve({ hostname: "127.0.0.1", port }, async ({ url, signal }) => {
  const { locations, characteristic, from, to } = Object.fromEntries(new URL(url).searchParams);
  const filter = () =>
    and(
      isIn("LocationId", locations?.split(",").map(Number) ?? []),
      characteristic && eq("CharacteristicName", characteristic),
      from && gte("ActivityStartYear", Number(from)),
      to && lte("ActivityStartYear", Number(to)),
    );
  const select = ["LocationId", "ActivityStartDate", "ResultValue", "ResultUnit"] as const;
  try {
    // The signal stops the requests to DataStream when the client of this server leaves.
    return Response.json(await client.observations({ select, filter: filter(), signal }).toArray());
  } catch (error) {
    if (signal.aborted) return new Response(null, { status: 499 }); // nobody reads it
    if (error instanceof weir.ValidationError) {
      return Response.json({ error: error.message }, { status: 400 });
    }
    if (!(error instanceof weir.DataStreamError)) throw error;
    return Response.json({ error: error.message, hint: error.hint }, { status: 502 });
  }
});
