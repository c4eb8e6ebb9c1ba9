/**
 * Download URLs that hold for some time without a key: HMAC-SHA-256 over the path and the query.
 *
 * The query is signed as decoded names and values, sorted and encoded again in one way, so that a
 * URL holds however a browser, Excel or R has spelled it. Neither host nor fragment is signed.
 *
 * Source: RFC 2104; Web Crypto.
 */

/** The shortest secret, in bytes of UTF-8: as long as what the hash gives (RFC 2104, section 3). */
const SHORTEST_SECRET = 32;
/** The year 3000 in Unix seconds: a later time was meant as milliseconds. */
const LATEST = 32_503_680_000;

const EXPIRES = "expires";
const SIGNATURE = "signature";

/** The query options that signing adds to a URL. */
export const SIGNING_OPTIONS: readonly string[] = [EXPIRES, SIGNATURE];

/** Options for {@linkcode signUrl}. */
export interface SignUrlOptions {
  /** The secret that the server verifies with, `WEIR_SIGNING_SECRET`: 32 bytes of UTF-8 at least. */
  secret: string;
  /** When the URL ceases to hold: a date, or Unix seconds. */
  expires: Date | number;
}

/** What a URL's signature is worth. */
type Verdict = "valid" | "expired" | "unsigned" | "wrong";

/**
 * Refuses a secret that could be guessed.
 *
 * @throws {TypeError} If it has fewer than 32 bytes; the message does not show it
 */
export function requireSecret(secret: string): void {
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret).length : 0;
  if (bytes >= SHORTEST_SECRET) return;
  throw new TypeError(
    `A signing secret must have at least ${SHORTEST_SECRET} bytes, got ${bytes}: make one with "openssl rand -hex 32"`,
  );
}

/**
 * Signs a download URL: whoever has it can use it, as it is, until it expires.
 *
 * @param url The URL to sign, absolute, without `expires` and `signature`
 * @param options The secret, and when the URL ceases to hold
 * @returns The URL with its query encoded, and `expires` and `signature` after it
 * @throws {TypeError} If the URL is none or signed already, or the secret has fewer than 32 bytes
 * @throws {RangeError} If the time is no whole number of seconds, or was meant as milliseconds
 *
 * @example A URL for a day
 * ```ts
 * import { signUrl } from "@weir/datastream/edge";
 * import { assertMatch } from "@std/assert";
 *
 * const url = await signUrl("https://weir.example/Records.csv?$filter=DOI eq '10.25976/xxxx-xx00'", {
 *   secret: "a secret of at least thirty-two bytes",
 *   expires: new Date("2026-12-01T00:00:00Z"),
 * });
 * assertMatch(url, /&expires=1796083200&signature=[0-9a-f]{64}$/);
 * ```
 */
export async function signUrl(url: URL | string, options: SignUrlOptions): Promise<string> {
  const { secret, expires } = options;
  requireSecret(secret);
  if (!URL.canParse(url)) {
    throw new TypeError("Wanted an absolute URL to sign, such as https://host/Records.csv");
  }
  const seconds = expires instanceof Date ? Math.floor(expires.getTime() / 1000) : expires;
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > LATEST) {
    throw new RangeError(
      `expires must be a date or whole Unix seconds (not milliseconds), got ${String(expires)}`,
    );
  }
  const signed = new URL(url);
  const twice = SIGNING_OPTIONS.find((name) => signed.searchParams.has(name));
  if (twice !== undefined) {
    throw new TypeError(`The URL has "${twice}" already: sign it without`);
  }
  const pairs: [string, string][] = [...signed.searchParams, [EXPIRES, String(seconds)]];
  const signature = await crypto.subtle.sign(
    "HMAC",
    await importKey(secret),
    canonical(signed.pathname, pairs),
  );
  // In the caller's order: only what is signed is sorted.
  signed.search = encodePairs([...pairs, [SIGNATURE, toHex(new Uint8Array(signature))]]);
  return signed.href;
}

/**
 * Says what a URL's signature is worth, in a time that does not depend on where it is wrong.
 *
 * @param url The URL as it came
 * @param secret The secret that it was signed with
 * @param now The time, in milliseconds since 1970
 */
export async function verifyUrl(url: URL, secret: string, now: number): Promise<Verdict> {
  const { searchParams, pathname } = url;
  const signatures = searchParams.getAll(SIGNATURE);
  const expiries = searchParams.getAll(EXPIRES);
  if (signatures.length === 0) return "unsigned";
  const [signature = ""] = signatures;
  const [expires = ""] = expiries;
  if (signatures.length > 1 || expiries.length !== 1) return "wrong";
  if (!/^[0-9a-f]{64}$/.test(signature) || !/^\d{1,12}$/.test(expires)) return "wrong";
  const pairs = [...searchParams].filter(([name]) => name !== SIGNATURE);
  // Web Crypto compares in constant time.
  const isRight = await crypto.subtle.verify(
    "HMAC",
    await importKey(secret),
    fromHex(signature),
    canonical(pathname, pairs),
  );
  if (!isRight) return "wrong";
  return now > Number(expires) * 1000 ? "expired" : "valid";
}

function importKey(secret: string): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const usages: KeyUsage[] = ["sign", "verify"];
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, usages);
}

/** What is signed: one text for all spellings of a path and query. */
function canonical(path: string, pairs: readonly [string, string][]): Uint8Array<ArrayBuffer> {
  const sorted = pairs.map((pair) => encodePairs([pair])).sort();
  return new TextEncoder().encode(`${path}?${sorted.join("&")}`);
}

/** Names and values as RFC 3986 has them, with everything encoded that a program might touch. */
function encodePairs(pairs: readonly [string, string][]): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  return pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
}
