// Loaded before an entry that only a signal ends: ended so, what it ran is counted by coverage.
Deno.addSignalListener("SIGTERM", () => Deno.exit());
