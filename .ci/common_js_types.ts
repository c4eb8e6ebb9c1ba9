/**
 * Creates the type declarations of an entry point for CommonJS.
 *
 * Node's `require()` loads an ECMAScript module, but TypeScript rejects its types in CommonJS files
 * (TS1479). The declarations re-export the types of the module: copies would be incompatible, because
 * classes have private members.
 *
 * @param source URL of the entry point's source
 * @param emitted Path of the entry point in the package
 */
export async function commonJsTypes(source: URL, emitted: string): Promise<string> {
  const module: Record<string, unknown> = await import(source.href);
  const from = `"./${emitted.slice(emitted.lastIndexOf("/") + 1)}"`;
  const mode = `with { "resolution-mode": "import" }`;
  const lines = [
    `import type * as module from ${from} ${mode};`,
    `export type * from ${from} ${mode};`,
  ];
  for (const [name, value] of Object.entries(module)) {
    lines.push(`export declare const ${name}: typeof module.${name};`);
    if (isClass(value)) lines.push(`export type ${name} = module.${name};`);
  }
  return `${lines.join("\n")}\n`;
}

function isClass(value: unknown): boolean {
  return typeof value === "function" && /^class\b/.test(String(value));
}
