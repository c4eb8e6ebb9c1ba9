// Service worker. Responds to the link with a CSV stream, which the browser writes to a file page by
// page. If a request fails, the browser shows a failed download.
import { DataStream } from "./weir.js";
import { createSandbox } from "./sandbox.js";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const client = new DataStream({ apiKey, baseUrl: url, fetch });
// Real data, if the service has your domain on its list:
// const client = new DataStream();

addEventListener("fetch", (event) => {
  if (!new URL(event.request.url).pathname.endsWith("/ph.csv")) return;
  const query = client.records({
    select: ["MonitoringLocationName", "ActivityStartDate", "ResultValue"],
    filter: "CharacteristicName eq 'pH'",
  });
  const headers = { "content-disposition": 'attachment; filename="ph.csv"' };
  event.respondWith(new Response(query.csv(), { headers }));
});
