// The signed query is decoded, sorted and encoded again, so that the signature survives another
// encoding by a browser, Excel or R. Host and fragment are not signed (RFC 2104; Web Cryptography
// API).
import { toHex } from "../bytes.ts";
import { ValidationError } from "../errors.ts";
import { invalidValue, readOptions } from "../validation.ts";

/** UTF-8; the length of the hash (RFC 2104, section 3). */
const MIN_SECRET_BYTES = 32;
/** Unix seconds, the year 3000. A larger number is likely in milliseconds. */
const MAX_EXPIRES = 32_503_680_000;

export const RANDOM_SECRET_HINT = 'make one with "openssl rand -hex 32"';
export const DEFAULT_LIFETIME_DAYS = 7;

const EXPIRES = "expires";
const SIGNATURE = "signature";

export const SIGNATURE_PARAMETERS: readonly string[] = [EXPIRES, SIGNATURE];

/**
 * Options for {@linkcode signUrl}.
 *
 * @example A week: `{ secret, expires: new Date(Date.now() + 7 * 86_400_000) }`
 */
export interface SignUrlOptions {
  /** Secret that the server verifies with, `WEIR_SIGNING_SECRET`: at least 32 bytes of UTF-8. */
  secret: string;
  /** Time at which the URL expires: a date, or Unix seconds. */
  expires: Date | number;
}

type SignatureStatus = "valid" | "expired" | "unsigned" | "invalid";

/**
 * Signs a download URL. Anyone who has the signed URL can use it, without changes, until it expires.
 *
 * @param url Absolute URL to sign, without `expires` and `signature`
 * @param options Secret and expiry
 * @returns The URL with its query encoded, followed by `expires` and `signature`
 * @throws {ValidationError} If the URL is not absolute or already signed, the secret has fewer than
 *   32 bytes, or the expiry is not a date or a whole number of Unix seconds before the year 3000
 *
 * @example A URL that is valid for a day
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
  const { secret, expires } = readOptions("signUrl()", options, {
    secret: { default: "" },
    expires: { default: NaN },
  });
  requireSecret("secret", secret);
  if (!(url instanceof URL) && !(typeof url === "string" && URL.canParse(url))) {
    throw new ValidationError("url", "must be an absolute URL, such as https://host/Records.csv", {
      received: url,
    });
  }
  const seconds = expires instanceof Date ? Math.floor(expires.getTime() / 1000) : expires;
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > MAX_EXPIRES) {
    throw invalidValue("expires", "a date or whole Unix seconds (not milliseconds)", expires);
  }
  const signed = new URL(url);
  const existing = SIGNATURE_PARAMETERS.find((name) => signed.searchParams.has(name));
  if (existing !== undefined) {
    throw new ValidationError("url", `must not have the parameter "${existing}"`, {
      hint: "pass the URL without its signature",
    });
  }
  const pairs: [string, string][] = [...signed.searchParams, [EXPIRES, String(seconds)]];
  const signature = await crypto.subtle.sign(
    "HMAC",
    await importKey(secret),
    canonicalize(signed.pathname, pairs),
  );
  // The URL keeps the order of its parameters. Only the signed bytes are sorted.
  signed.search = encodePairs([...pairs, [SIGNATURE, toHex(new Uint8Array(signature))]]);
  return signed.href;
}

/** `now` is in ms since 1970. */
export async function verifyUrl(url: URL, secret: string, now: number): Promise<SignatureStatus> {
  const { searchParams, pathname } = url;
  const signatures = searchParams.getAll(SIGNATURE);
  const expiries = searchParams.getAll(EXPIRES);
  if (signatures.length === 0) return "unsigned";
  const [signature = ""] = signatures;
  const [expires = ""] = expiries;
  if (signatures.length > 1 || expiries.length !== 1) return "invalid";
  if (!/^[0-9a-f]{64}$/.test(signature) || !/^\d{1,12}$/.test(expires)) return "invalid";
  const pairs = [...searchParams].filter(([name]) => name !== SIGNATURE);
  // Web Crypto compares in constant time.
  const isValid = await crypto.subtle.verify(
    "HMAC",
    await importKey(secret),
    fromHex(signature),
    canonicalize(pathname, pairs),
  );
  if (!isValid) return "invalid";
  return now > Number(expires) * 1000 ? "expired" : "valid";
}

export function requireSecret(option: string, secret: string): void {
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret).length : 0;
  if (bytes >= MIN_SECRET_BYTES) return;
  throw new ValidationError(option, `must have at least ${MIN_SECRET_BYTES} bytes, got ${bytes}`, {
    hint: RANDOM_SECRET_HINT,
  });
}

function importKey(secret: string): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const usages: KeyUsage[] = ["sign", "verify"];
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, usages);
}

/** Does not depend on the encoding and order of the parameters. */
function canonicalize(
  path: string,
  pairs: readonly [string, string][],
): Uint8Array<ArrayBuffer> {
  const sorted = pairs.map((pair) => encodePairs([pair])).sort();
  return new TextEncoder().encode(`${path}?${sorted.join("&")}`);
}

/** Also encodes the sub-delimiters of RFC 3986. */
function encodePairs(pairs: readonly [string, string][]): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  return pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
}
