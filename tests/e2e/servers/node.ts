// Serves the app of `app.ts` with Node's HTTP server.
import { serveNode } from "../../../edge/node.ts";
import entry from "./app.ts";

serveNode(entry, 0, (port) => console.error(`The test's app listens on port ${port}`), (error) => {
  throw error;
});
