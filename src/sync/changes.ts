// The feed of new versions, in Atom (RFC 4287).
import type { Folder } from "./folder.ts";
import { PRIVATE } from "./folder.ts";
import { readText } from "./manifest.ts";

/** A new version of a dataset, or its end. */
export interface Change {
  doi: string;
  version: string;
  published: string;
  /** Number of rows; `undefined` if the dataset was removed. */
  rows: number | undefined;
  /** Number of rows of the version before; `undefined` if there was none. */
  before: number | undefined;
  /** Time of the run, in ISO 8601. */
  at: string;
}

export const FEED = "changes.atom";
const CHANGES = `${PRIVATE}/changes.json`;
const MAX_CHANGES = 1_000;

/** Adds changes to the feed, which has the newest 1,000. A run that repeats one that was killed adds them once. */
export async function addChanges(
  folder: Folder,
  added: readonly Change[],
  write: (path: string, text: string) => Promise<unknown>,
): Promise<void> {
  const earlier = await readChanges(folder);
  const ids = new Set(added.map(idOf));
  const changes = [...added, ...earlier.filter((change) => !ids.has(idOf(change)))];
  const newest = changes.slice(0, MAX_CHANGES);
  await write(CHANGES, JSON.stringify(newest));
  await write(FEED, formatFeed(newest));
}

async function readChanges(folder: Folder): Promise<Change[]> {
  try {
    const found = JSON.parse(await readText(folder, CHANGES) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return []; // damaged
  }
}

/** A permanent IRI, as RFC 4287 asks for, without an address of the mirror, which has none. */
function idOf({ doi, version, published, rows }: Change): string {
  const facts = [doi, version, published, rows === undefined ? "removed" : "published"];
  return `urn:weir:${facts.map(encodeURIComponent).join(":")}`;
}

function formatFeed(changes: readonly Change[]): string {
  const updated = changes[0]?.at ?? "1970-01-01T00:00:00Z";
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>urn:weir:mirror</id>
  <title>Changes of the mirror of DataStream</title>
  <updated>${updated}</updated>
  <author><name>Weir</name></author>
${changes.map(formatEntry).join("")}</feed>
`;
}

function formatEntry(change: Change): string {
  const { doi, version, published, rows, before, at } = change;
  const title = rows === undefined ? `${doi} was removed` : `${doi}, version ${version}`;
  const counts = `${rows ?? "none"} (before: ${before ?? "none"})`;
  return `  <entry>
    <id>${escapeXml(idOf(change))}</id>
    <title>${escapeXml(title)}</title>
    <updated>${at}</updated>
    <link href="${escapeXml(`https://doi.org/${doi}`)}"/>
    <summary>${escapeXml(`Rows: ${counts}. Published: ${published}`)}</summary>
  </entry>
`;
}

/** Without the control characters that XML cannot have. */
function escapeXml(text: string): string {
  return text.replace(/[\p{Cc}\uFFFE\uFFFF]/gu, " ").replace(
    /[&<>"]/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}
