// The same app behind Node's own HTTP server.
import { serveNode } from "../../../edge/node_server.ts";
import entry from "./app.ts";

serveNode(entry, 0, (port) => console.error(`The test's app listens on port ${port}`), (error) => {
  throw error;
});
