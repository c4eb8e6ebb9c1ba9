import { DataStream } from "../src/client/datastream.ts";
import { KEY_SOURCE } from "../src/service_roots.ts";
import { SIGNING_OPTIONS, verifyUrl } from "../src/signing/signed_url.ts";
import type { Settings } from "./options.ts";
import { HttpProblem } from "./problem.ts";

/** Who may download, and with whose key. */
export interface Access {
  /** The options that a download's URL may have for it. */
  urlOptions: readonly string[];
  /** What says how long an answer may be kept, and by whom. */
  cacheControl: string;
  /** The request header that an answer depends on. */
  vary: string | undefined;
  /**
   * The client for a download.
   *
   * @throws {HttpProblem} If the request may not download
   */
  admit(request: Request): Promise<DataStream>;
  /**
   * The client for the page, which counts and previews.
   *
   * @param token What a form brought, where there is no script to send it as a header
   * @returns The client; undefined where the caller has not said yet who it is
   * @throws {HttpProblem} If the caller may not
   */
  admitToPage(request: Request, token: string | undefined): Promise<DataStream | undefined>;
}

/** An answer of these modes is for who asked alone, or must not outlive its URL. */
const NOT_KEPT = "private, no-store, no-transform";
/** Data changes when a dataset is published anew, which is seldom. */
const KEPT = "public, max-age=300, no-transform";

/** The access that the settings ask for. */
export function createAccess(settings: Settings): Access {
  const { access, apiKey, service } = settings;
  if (access === "caller") {
    // Made once in vain, so that a wrong option stops the server and not each request.
    new DataStream({ ...service, apiKey: "a-caller's-key" });
    return callerAccess(service);
  }
  const own = new DataStream({ ...service, apiKey });
  switch (access) {
    case "public":
      return {
        urlOptions: [],
        cacheControl: KEPT,
        vary: undefined,
        admit: () => Promise.resolve(own),
        admitToPage: () => Promise.resolve(own),
      };
    case "token":
      return tokenAccess(own, settings);
    case "signed":
      return {
        ...tokenAccess(own, settings),
        urlOptions: SIGNING_OPTIONS,
        vary: undefined,
        admit: (request) => bySignature(request, own, settings),
      };
  }
}

function callerAccess(service: Settings["service"]): Access {
  const clientOf = (apiKey: string) => new DataStream({ ...service, apiKey });
  return {
    urlOptions: [],
    cacheControl: NOT_KEPT,
    vary: "x-api-key",
    // deno-lint-ignore require-await -- a rejection, as of the other ways
    async admit({ headers }) {
      const key = headers.get("x-api-key")?.trim();
      if (!key) {
        throw new HttpProblem({
          status: 401,
          title: "No API key",
          detail: "Wanted the header x-api-key, got none",
          hint:
            `send your own DataStream API key, or request one at ${KEY_SOURCE}; the server uses ` +
            "it for this request alone",
        });
      }
      return callersOwn(key);
    },
    // deno-lint-ignore require-await -- a rejection, as of the other ways
    async admitToPage({ headers }) {
      const key = headers.get("x-api-key")?.trim();
      return key ? callersOwn(key) : undefined;
    },
  };

  function callersOwn(key: string): DataStream {
    try {
      return clientOf(key);
    } catch {
      throw new HttpProblem({
        status: 400,
        title: "Bad request",
        detail: "The header x-api-key holds what no API key does (not shown)",
        hint: "send the key alone, without quotes or spaces",
      });
    }
  }
}

function tokenAccess(own: DataStream, settings: Settings): Access {
  return {
    urlOptions: [],
    cacheControl: NOT_KEPT,
    vary: "authorization",
    admit: (request) => byToken(request, own, settings),
    async admitToPage(request, token) {
      const given = token ?? bearerOf(request);
      return given === undefined ? undefined : await byToken(request, own, settings, given);
    },
  };
}

async function bySignature(
  request: Request,
  own: DataStream,
  { signingSecret, now }: Settings,
): Promise<DataStream> {
  const verdict = await verifyUrl(new URL(request.url), signingSecret, now());
  if (verdict === "valid") return own;
  const details = {
    unsigned: "Wanted a signed URL, got one without a signature",
    expired: "The URL held until a time that has passed",
    wrong: "The URL is not as it was signed",
  };
  throw new HttpProblem({
    status: 403,
    title: verdict === "expired" ? "URL expired" : "URL not signed",
    detail: details[verdict],
    hint: verdict === "wrong"
      ? "use the URL whole, as you got it; another query needs a URL of its own"
      : "ask whoever runs this server for a URL, or make one on the page /",
  });
}

async function byToken(
  request: Request,
  own: DataStream,
  { tokens }: Settings,
  token = bearerOf(request),
): Promise<DataStream> {
  if (token !== undefined && await isOneOf(token, tokens)) return own;
  throw new HttpProblem({
    status: 401,
    title: token === undefined ? "No token" : "Token refused",
    detail: token === undefined
      ? "Wanted the header authorization: Bearer, got none"
      : "The token is none of this server's",
    hint: "ask whoever runs this server for a token",
  }, { "www-authenticate": token === undefined ? "Bearer" : 'Bearer error="invalid_token"' });
}

function bearerOf({ headers }: Request): string | undefined {
  return /^bearer +(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/** Compares with each token in a time that tells nothing of either: by digest, to the last one. */
async function isOneOf(token: string, tokens: readonly string[]): Promise<boolean> {
  const digest = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const given = await digest(token);
  let isFound = false;
  for (const other of await Promise.all(tokens.map(digest))) {
    let difference = 0;
    for (const [index, byte] of other.entries()) difference |= byte ^ given[index]!;
    isFound = difference === 0 || isFound;
  }
  return isFound;
}
