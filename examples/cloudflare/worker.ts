// A Cloudflare Worker that serves downloads and their web page, and the Durable Object that limits the rate
// of all isolates. `wrangler.jsonc` has its settings.
export { default, RateLimiterObject } from "@weir/datastream/cloudflare";
