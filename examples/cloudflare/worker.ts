// A Cloudflare Worker that serves downloads and their web page. `wrangler.jsonc` has its settings.
export { default } from "@weir/datastream/serve";
