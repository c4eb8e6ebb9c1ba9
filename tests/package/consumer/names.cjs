// Prints the export names of every entry point, by `require` and by `import`, as JSON.
const entries = ["", "/cli", "/edge", "/sandbox"].map((path) => `@weir/datastream${path}`);

async function main() {
  const required = entries.map((entry) => Object.keys(require(entry)));
  const imported = await Promise.all(
    entries.map(async (entry) => Object.keys(await import(entry))),
  );
  console.log(JSON.stringify({ required, imported }));
}

main();
