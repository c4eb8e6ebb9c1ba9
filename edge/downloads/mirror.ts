// Files of a folder that `weir sync` keeps current. The manifest decides which files exist, so that no path of a request
// reaches the file system.
import { accepts } from "@std/http/negotiation";
import { createSha256, utf8Decoder, utf8Encoder } from "../../src/bytes.ts";
import { signUrl } from "../../src/signing/signed_url.ts";
import { isObject } from "../../src/validation.ts";
import { MANIFEST, MIRROR_SCHEMA } from "../../src/mirror_manifest.ts";
import type { Exchange } from "../http/exchange.ts";
import type { MirrorFolder, ReadableFile } from "../http/folder.ts";
import { readParameters, shorten } from "../http/parameters.ts";
import { HttpProblem, LimitReached } from "../http/problem.ts";
import { Queue, startHeartbeat } from "../http/queue.ts";
import { refusalOf, selectBytes } from "../http/ranges.ts";
import { publicOrigin } from "../http/public_origin.ts";
import { createBody, type PartSource } from "./body.ts";
import type { AppContext } from "./document.ts";
import { notModified } from "./versions.ts";

export const MIRROR_PATH = "/mirror/";
export const MIRROR_JSON = `${MIRROR_PATH.slice(0, -1)}.json`;
/** Hexadecimal digits of the hash in a URL. */
const VERSION_LENGTH = 16;
/** Characters. */
const MAX_ACCEPT_LENGTH = 1_000;
/** Bytes that are read from a file at once. */
const READ_LENGTH = 262_144;
/** Milliseconds for which a cache may keep a file of a version. It stays the same, but newer ones replace it. */
const VERSION_TTL = 86_400_000;

/** A file that the manifest lists. */
export interface MirrorEntry {
  name: string;
  path: string;
  mediaType: string;
  bytes: number;
  /** SHA-256 in hexadecimal. */
  digest: string;
  rows: number | undefined;
  /** DOI; `undefined` if it is of all datasets. */
  dataset: string | undefined;
  /** Version and time of publication of the dataset; `undefined` if they are unknown. */
  version: string | undefined;
  published: string | undefined;
}

interface Manifest {
  title: string | undefined;
  created: string | undefined;
  /** By path. */
  files: ReadonlyMap<string, MirrorEntry>;
  /** Time (ms since 1970) at which its content was written, after the files had their names. */
  writtenAt: number;
}

/** A folder, and what is known about its files. */
export class Mirror {
  /** Limit of the files that are being sent, apart from downloads, which need DataStream. */
  readonly slots: Queue;
  #manifest: { state: string; manifest: Manifest } | undefined;
  /** Whether the file of a path has the hash of the manifest, by the state of both. */
  readonly #checked = new Map<string, { state: string; isEqual: boolean }>();

  constructor(readonly folder: MirrorFolder, limits: AppContext["settings"]) {
    const { maxDownloads: max, maxDownloadsPerClient: maxPerClient, clock } = limits;
    this.slots = new Queue({ max, maxPerClient, tasks: "files of the mirror", clock });
  }

  /** Reads the manifest if it has changed. Throws if it cannot be used. */
  async manifest({ log }: Pick<Exchange, "log">): Promise<Manifest> {
    const file = await this.folder.open(MANIFEST);
    if (file === undefined) throw noManifest("The mirror has no files yet: weir sync writes them");
    try {
      const state = stateOf(file);
      if (this.#manifest?.state !== state) {
        const text = utf8Decoder.decode(await file.read(0, file.size));
        this.#manifest = { state, manifest: parseManifest(text, file.modifiedAt) };
      }
      return this.#manifest.manifest;
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      log.logFailure(`${MANIFEST} of the mirror`, error);
      throw noManifest("The mirror cannot be read");
    } finally {
      await file.close();
    }
  }

  /** Opens a file of the manifest. Throws if the folder has another one, which the next manifest lists. */
  async open(entry: MirrorEntry, manifest: Manifest): Promise<ReadableFile> {
    const file = await this.folder.open(entry.path);
    try {
      if (file?.size === entry.bytes && await this.#isListed(file, entry, manifest)) return file;
      throw new LimitReached({
        status: 503,
        title: "File being replaced",
        detail: `${entry.path} is being replaced, or was changed by another program`,
      });
    } catch (error) {
      await file?.close();
      throw error;
    }
  }

  /** The manifest is written last. Only a file that is newer, such as of a copied folder, is compared with its hash. */
  async #isListed(file: ReadableFile, entry: MirrorEntry, manifest: Manifest): Promise<boolean> {
    if (file.changedAt <= manifest.writtenAt) return true;
    const state = `${entry.digest} ${stateOf(file)}`;
    const known = this.#checked.get(entry.path);
    if (known?.state === state) return known.isEqual;
    const isEqual = await digestOf(file) === entry.digest;
    this.#checked.set(entry.path, { state, isEqual });
    return isEqual;
  }
}

function stateOf({ size, modifiedAt, changedAt }: ReadableFile): string {
  return [size, modifiedAt, changedAt].join(" ");
}

/** `undefined` without `node:crypto`. */
async function digestOf(file: ReadableFile): Promise<string | undefined> {
  const hash = createSha256();
  for (let at = 0; hash !== undefined && at < file.size; at += READ_LENGTH) {
    hash.update(await file.read(at, Math.min(file.size, at + READ_LENGTH)));
  }
  return hash?.digest("hex");
}

function noManifest(detail: string): HttpProblem {
  return new HttpProblem({
    status: 503,
    title: "No mirror",
    detail,
    hint: "tell the operator of this server (its log has the details)",
  }, { "retry-after": "60" });
}

class ManifestError extends Error {}

function parseManifest(text: string, writtenAt: number): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ManifestError("it is not JSON: run weir sync again");
  }
  const { resources, weir, title, created } = membersOf(json);
  const { mirror: version, datasets } = membersOf(weir);
  if (version !== MIRROR_SCHEMA) {
    throw new ManifestError(
      `it has version ${String(version)} of the schema, and this version of Weir reads ` +
        `${MIRROR_SCHEMA}: use the same version of Weir for weir sync and the server`,
    );
  }
  const versions = new Map(
    (Array.isArray(datasets) ? datasets : []).map((dataset) => {
      const [doi, ...rest] = (Array.isArray(dataset) ? dataset : []).map(textOf);
      return [doi, rest] as const;
    }),
  );
  const entries = (Array.isArray(resources) ? resources : []).map((resource, index) => {
    const { name, path, mediatype, bytes, hash, rows, dataset } = membersOf(resource);
    const [, digest] = /^sha256:([0-9a-f]{64})$/.exec(textOf(hash) ?? "") ?? [];
    if (!isSafePath(path) || digest === undefined || !Number.isSafeInteger(bytes)) {
      const shown = textOf(path) ?? `number ${index + 1}`;
      throw new ManifestError(
        `the resource ${JSON.stringify(shown)} needs a path in the folder, a size and a hash`,
      );
    }
    const [datasetVersion, published] = versions.get(textOf(dataset)) ?? [];
    const entry: MirrorEntry = {
      name: textOf(name) ?? path,
      path,
      mediaType: textOf(mediatype) ?? "application/octet-stream",
      bytes: bytes as number,
      digest,
      rows: typeof rows === "number" ? rows : undefined,
      dataset: textOf(dataset),
      version: datasetVersion,
      published,
    };
    return [path, entry] as const;
  });
  const files = new Map(entries);
  return { title: textOf(title), created: textOf(created), files, writtenAt };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Relative, without hidden names such as `.weir` and `..`. */
function isSafePath(path: unknown): path is string {
  return typeof path === "string" && /^[^/\\:\0]+(\/[^/\\:\0]+)*$/.test(path) &&
    path.split("/").every((name) => !name.startsWith("."));
}

/** A file of the list, as in JSON. */
export interface ListedFile extends Omit<MirrorEntry, "digest" | "mediaType"> {
  hash: string;
  /** With the version of the file. */
  url: string;
}

/** `expires` is for signed URLs. */
export async function listFiles(
  mirror: Mirror,
  exchange: Exchange,
  { signingSecret: secret }: AppContext["settings"],
  expires: Date | number | undefined,
): Promise<{ title: string | undefined; created: string | undefined; files: ListedFile[] }> {
  const { files, title, created } = await mirror.manifest(exchange);
  const origin = publicOrigin(exchange.request);
  const list = [...files.values()].map(async ({ digest, mediaType: _, ...file }) => {
    const path = file.path.split("/").map(encodeURIComponent).join("/");
    const url = `${origin}${MIRROR_PATH}${path}?version=${digest.slice(0, VERSION_LENGTH)}`;
    const signed = expires === undefined ? url : await signUrl(url, { secret, expires });
    return { ...file, hash: `sha256:${digest}`, url: signed };
  });
  return { title, created, files: await Promise.all(list) };
}

/** Whether the request prefers a page; `curl` and other programs accept anything. */
export function isForBrowser({ request }: Exchange): boolean {
  const accept = (request.headers.get("accept") ?? "").slice(0, MAX_ACCEPT_LENGTH);
  const headers = new Headers({ accept });
  return accepts({ headers }, "application/json", "text/html") === "text/html";
}

/** With signed access, the URLs expire when that of the list does. */
export async function respondWithMirrorList(
  exchange: Exchange,
  mirror: Mirror,
  { accessControl, settings }: AppContext,
): Promise<Response> {
  const { request } = exchange;
  await accessControl.authorize(exchange);
  const url = new URL(request.url);
  readParameters(url, [], accessControl.parameters);
  const expires = settings.access === "signed"
    ? Number(url.searchParams.get("expires"))
    : undefined;
  const list = await listFiles(mirror, exchange, settings, expires);
  const body = utf8Encoder.encode(`${JSON.stringify(list, null, 2)}\n`);
  const { vary } = accessControl;
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "cache-control": accessControl.cacheControl(0),
    vary: ["accept", ...vary ? [vary] : []].join(", "),
  };
  return new Response(request.method === "HEAD" ? null : body, { headers });
}

export async function respondWithMirrorFile(
  exchange: Exchange,
  mirror: Mirror,
  context: AppContext,
): Promise<Response> {
  const { accessControl, settings } = context;
  const { request } = exchange;
  const { signal } = request;
  await accessControl.authorize(exchange);
  const url = new URL(request.url);
  const { options: { version }, logged } = readParameters(
    url,
    ["version"],
    accessControl.parameters,
  );
  const manifest = await mirror.manifest(exchange);
  const entry = manifest.files.get(pathOf(url));
  if (entry === undefined) throw NOT_LISTED;
  exchange.facts.query = { file: entry.path, ...logged };
  if (version !== undefined && version !== entry.digest.slice(0, VERSION_LENGTH)) {
    throw new HttpProblem({
      status: 410,
      title: "File replaced",
      detail: `${entry.path} has another version now than ${shorten(version)}`,
      hint: READ_AGAIN,
    });
  }
  const leave = await mirror.slots.enter(exchange.client, signal);
  let file: ReadableFile | undefined;
  let isSent = false;
  try {
    file = await mirror.open(entry, manifest);
    const lastModified = Math.min(file.modifiedAt, settings.now());
    const representation = { size: entry.bytes, etag: `"${entry.digest}"`, lastModified };
    const selection = selectBytes(request, representation);
    const problem = refusalOf(selection, entry.path, entry.bytes, READ_AGAIN);
    if (problem !== undefined) throw problem;
    const { status, start, end, headers: selected } = selection;
    const { vary } = accessControl;
    const headers = {
      "content-type": contentTypeOf(entry),
      "cache-control": accessControl.cacheControl(version === undefined ? 0 : VERSION_TTL),
      ...(vary && { vary }),
      ...selected,
    };
    if (status === 304) return notModified(headers);
    if (request.method === "HEAD") return new Response(null, { status, headers });
    isSent = exchange.isStream = true;
    const source = readFile(file, start, end, leave, settings);
    const body = createBody(NO_PART, source, exchange, settings, `Transfer of ${entry.path}`);
    return new Response(body, { status, headers });
  } finally {
    if (!isSent) {
      leave();
      await file?.close();
    }
  }
}

/** The bytes are read when the client wants them. */
const NO_PART = { data: new Uint8Array(), rows: 0 };

const READ_AGAIN = `read the list ${MIRROR_JSON} again`;

const NOT_LISTED = new HttpProblem({
  status: 404,
  title: "Not found",
  detail: "The mirror has no such file",
  hint: `use a URL of the list ${MIRROR_JSON}`,
});

/** The name in the list. A malformed one is no file of the list. */
function pathOf({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname.slice(MIRROR_PATH.length));
  } catch {
    return "";
  }
}

/** The manifest could have any text. */
function contentTypeOf({ mediaType }: MirrorEntry): string {
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(mediaType)) return "application/octet-stream";
  return mediaType.startsWith("text/") ? `${mediaType}; charset=utf-8` : mediaType;
}

/** Reads bytes of an open file in parts, when the client has read those before. */
function readFile(
  file: ReadableFile,
  start: number,
  end: number,
  leave: () => void,
  { clock }: AppContext["settings"],
): PartSource {
  let at = start;
  let reading: Promise<unknown> = Promise.resolve();
  const stopHeartbeat = startHeartbeat(clock, () => source.onHeartbeat());
  const source: PartSource = {
    error: undefined,
    onHeartbeat() {},
    async read() {
      if (at === end) return undefined;
      const part = file.read(at, Math.min(end, at + READ_LENGTH));
      reading = part.catch(() => {});
      const data = await part;
      if (data.length === 0) throw new Error(`The file ends at byte ${at}, before byte ${end}`);
      at += data.length;
      return { data, rows: 0 };
    },
    close() {
      stopHeartbeat();
      leave();
      void reading.then(() => file.close());
    },
  };
  return source;
}
