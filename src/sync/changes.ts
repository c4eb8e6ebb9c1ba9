// The feed of new versions, in Atom (RFC 4287).
import { createHash, randomUUID } from "node:crypto";
import { type Folder, PRIVATE } from "./folder.ts";
import { readText } from "./manifest.ts";

/** A new version of a dataset, or its removal. */
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

/** What the feed is made of. */
interface Feed {
  /** UUID of the mirror. */
  id: string;
  changes: Change[];
}

/** Adds changes to the feed, which has the newest 1,000, unless it has them from a run that was killed. */
export async function addChanges(
  folder: Folder,
  added: readonly Change[],
  write: (path: string, text: string) => Promise<unknown>,
): Promise<void> {
  const { id, changes } = await readFeed(folder);
  const known = new Set(changes.map(keyOf));
  const newest = added.filter((change) => !known.has(keyOf(change)));
  const feed = { id, changes: [...newest, ...changes].slice(0, MAX_CHANGES) };
  await write(CHANGES, JSON.stringify(feed));
  await write(FEED, formatFeed(feed));
}

async function readFeed(folder: Folder): Promise<Feed> {
  try {
    const { id, changes } = JSON.parse(await readText(folder, CHANGES) ?? "") as Feed;
    if (typeof id === "string" && Array.isArray(changes)) return { id, changes };
  } catch {
    // It is missing or damaged.
  }
  return { id: randomUUID(), changes: [] };
}

function keyOf({ doi, version, published, rows }: Change): string {
  return JSON.stringify([doi, version, published, rows === undefined]);
}

/** RFC 4287 asks for an id that no other feed has. */
function idOf(feed: Feed, change: Change): string {
  const hash = createHash("sha256").update(feed.id + keyOf(change)).digest("hex");
  return `urn:uuid:${hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")}`;
}

function formatFeed(feed: Feed): string {
  const updated = feed.changes[0]?.at ?? "1970-01-01T00:00:00Z";
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>urn:uuid:${feed.id}</id>
  <title>Changes of the mirror of DataStream</title>
  <updated>${updated}</updated>
  <author><name>Weir</name></author>
${feed.changes.map((change) => formatEntry(feed, change)).join("")}</feed>
`;
}

function formatEntry(feed: Feed, change: Change): string {
  const { doi, version, published, rows, before, at } = change;
  const title = rows === undefined ? `${doi} was removed` : `${doi}, version ${version}`;
  const counts = `${rows ?? "none"} (before: ${before ?? "none"})`;
  return `  <entry>
    <id>${idOf(feed, change)}</id>
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
