// Responds to a link with the client's CSV stream. The browser saves it page by page and reports an
// error of the stream as a failed download.
import { DataStream } from "/weir.js";

const client = new DataStream({
  baseUrl: new URL(location.href).searchParams.get("service"),
  requestsPerSecond: Infinity, // for the test's sandbox only
  retry: { attempts: 1 },
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  if (new URL(event.request.url).pathname !== "/Records.csv") return;
  event.respondWith(
    new Response(client.records({ top: 100 }).csv(), {
      headers: {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": 'attachment; filename="records.csv"',
      },
    }),
  );
});
