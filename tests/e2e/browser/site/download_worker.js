// Answers a link for a file with the client's own stream: the browser writes it down as it comes, and
// takes a fault for what it is, a download that has failed.
import { DataStream } from "/weir.js";

const client = new DataStream({
  baseUrl: new URL(location.href).searchParams.get("service"),
  requestsPerSecond: Infinity, // of a test; leave it out towards the service
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
