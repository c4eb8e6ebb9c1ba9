// A Hono app that serves downloads, their web page and other routes.
import { Hono } from "hono";
import { createApp } from "@weir/datastream/edge";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
const weir = createApp({ access: "public", apiKey, baseUrl: url, fetch, synthetic: true });
// Real data; each request brings its own API key:
// const weir = createApp({ access: "caller" });

const app = new Hono();
app.get("/hello", (context) => context.text("Hello"));
// At the root, after the other routes. Under a path, such as "/water", downloads work, but neither the
// web page, whose links start at the root, nor signed URLs, whose signature includes the path.
app.mount("/", weir.fetch);

export default app;
