// The same app behind Node's own HTTP server.
import { serveNode } from "../../../edge/node.ts";
import entry from "./app.ts";

serveNode(entry, { port: 0 }).then(({ url }) => console.error(`The test's app listens on ${url}`));
