// Prints the export names of entry points, by `require` and by `import`, as JSON. Usage: `names.cjs ENTRY…`.
const entries = process.argv.slice(2);
// Node adds this name to a module with a default export.
const names = (module) => Object.keys(module).filter((name) => name !== "__esModule");

async function main() {
  const required = entries.map((entry) => names(require(entry)));
  const imported = await Promise.all(entries.map(async (entry) => names(await import(entry))));
  console.log(JSON.stringify({ required, imported }));
}

main();
