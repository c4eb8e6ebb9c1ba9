// A Cloudflare Worker that serves downloads and their web page.
import { createApp } from "@weir/datastream/edge";
import { createSandbox } from "@weir/datastream/sandbox";

// Synthetic data, without an API key or the network:
const { apiKey, url, fetch } = createSandbox();
export default createApp({ access: "public", apiKey, baseUrl: url, fetch, synthetic: true });
// Real data; each request brings its own API key:
// export default createApp({ access: "caller", pageRows: 2000 });
