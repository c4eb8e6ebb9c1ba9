// Prints the export names of every entry point, by `require` and by `import`, as JSON.
const names = ["", "/endpoint", "/cli", "/edge", "/serve", "/node", "/sandbox"];
const entries = names.map((path) => `@weir/datastream${path}`);
// The entry /serve reads its configuration when it is loaded.
process.env.WEIR_SANDBOX = "1";

async function main() {
  const required = entries.map((entry) => Object.keys(require(entry)));
  const imported = await Promise.all(
    entries.map(async (entry) => Object.keys(await import(entry))),
  );
  console.log(JSON.stringify({ required, imported }));
}

main();
