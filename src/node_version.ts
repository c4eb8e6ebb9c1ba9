/** First supported release of each major version of Node, and of all later ones: `require()` loads ECMAScript modules. */
const FIRST_RELEASES = [[20, 19], [22, 12]] as const;
const LAST = FIRST_RELEASES.length - 1;

/** For `engines` in package.json. */
export const NODE_ENGINES: string = FIRST_RELEASES
  .map(([major, minor], index) => `${index === LAST ? ">=" : "^"}${major}.${minor}.0`).join(" || ");

/** For sentences. */
export const NODE_VERSIONS: string = `${
  FIRST_RELEASES.map((release) => release.join(".")).join(", ")
} or later`;

type Versions = Readonly<Record<string, string | undefined>>;
interface Globals {
  process?: { versions: Versions };
}

/** Node 12 and later can load this module: it has no imports, and neither `?.` nor `??`. */
function currentVersions(): Versions {
  const { process: { versions } = { versions: {} } } = globalThis as Globals;
  return versions;
}

/** Returns `undefined` for a Node that is not too old, and in Deno and Bun, which also have a version of Node. */
export function oldNodeMessage(
  { node, deno, bun } = currentVersions(),
): string | undefined {
  if (!node || deno || bun || isSupported(node)) return undefined;
  return `Node ${node} is too old: install Node ${NODE_VERSIONS}`;
}

/** For entries that a program imports. */
export function requireNode(): void {
  const message = oldNodeMessage();
  // Node prints the stack, which is only the message here.
  if (message) throw Object.assign(new Error(message), { stack: `Error: ${message}` });
}

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return FIRST_RELEASES.some(([first, least], index) =>
    major === first ? minor >= least : major > first && index === LAST
  );
}
