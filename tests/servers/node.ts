// The same app behind Node's own HTTP server.
import { serve } from "@hono/node-server";
import entry from "./app.ts";

serve({
  fetch: (request) => entry.fetch(request),
  hostname: "127.0.0.1",
  port: 0,
}, ({ port }) => {
  console.error(`The test's app listens on port ${port}`);
});
