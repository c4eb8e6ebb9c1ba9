/**
 * The types of an entry for CommonJS, where TypeScript refuses those of an ECMAScript module
 * (TS1479) although Node's require() takes it. They are the very types of the module, by another
 * way: there is one implementation, and a class has private members, so copies would not fit.
 *
 * @param source The entry's source
 * @param emitted The entry in the package
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
