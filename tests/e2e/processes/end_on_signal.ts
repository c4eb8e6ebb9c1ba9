// Preloaded before a server: exits on SIGTERM, so that Deno writes the coverage of the process.
Deno.addSignalListener("SIGTERM", () => Deno.exit());
