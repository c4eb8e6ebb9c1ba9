// Responds to a link with the client's stream. The browser writes it to a file while it arrives. An
// error of the stream fails the download.
import { DataStream } from "/weir.js";

const client = new DataStream({
  baseUrl: new URL(location.href).searchParams.get("service"),
  requestsPerSecond: Infinity, // only for tests: the service limits requests
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
