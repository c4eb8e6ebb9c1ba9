/** Bundles of the server: the module of each, and the platform whose modules it may import. */
export const SERVER_BUNDLES = {
  "server.mjs": { module: "src/cli/serve_bin.ts", platform: "deno" },
  "worker.js": { module: "edge/serve.ts", platform: "browser" },
} as const;
