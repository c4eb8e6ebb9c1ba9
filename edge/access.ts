import { DataStream } from "../src/client/datastream.ts";
import { KEY_SOURCE } from "../src/service_constants.ts";
import { SIGNATURE_PARAMETERS, verifyUrl } from "../src/signing/signed_url.ts";
import type { Settings } from "./options.ts";
import { HttpProblem } from "./problem.ts";

/** Access control of an app: which requests may use the service, and with which API key. */
export interface AccessControl {
  /** Names of the URL parameters that this access mode adds, such as `expires` and `signature`. */
  parameters: readonly string[];
  /**
   * Returns the value of `cache-control` for a successful response.
   *
   * @param ttl Time (ms) for which a shared cache may store it
   */
  cacheControl(ttl: number): string;
  /** Request header that responses vary by. */
  vary: string | undefined;
  /** Client with the API key of the server, or without a key if the access mode has none. */
  serverDataStream: DataStream;
  /**
   * Returns the `DataStream` for a download.
   *
   * @throws {HttpProblem} 401 or 403 if the request is not authorized
   * @throws {ValidationError} If the request's API key is malformed
   */
  authorize(request: Request): Promise<DataStream>;
  /**
   * Returns the `DataStream` for the web page.
   *
   * @param token Token in the body of the request, where a form sends it without JavaScript
   * @returns The `DataStream`, or `undefined` if the request has no credentials
   * @throws {HttpProblem} 401 if the request's token is wrong
   * @throws {ValidationError} If the request's API key is malformed
   */
  authorizePage(request: Request, token: string | undefined): Promise<DataStream | undefined>;
}

/** `cache-control` for responses that depend on credentials or on a URL that expires. */
const NO_CACHE = () => "private, no-store, no-transform";

/**
 * Creates the access control of an app.
 *
 * @throws {ValidationError} If an option of `DataStream` is invalid
 */
export function createAccessControl(settings: Settings): AccessControl {
  const { access, dataStreamOptions } = settings;
  const apiKey = access === "caller" ? PLACEHOLDER_KEY : settings.apiKey;
  const dataStream = new DataStream({ ...dataStreamOptions, apiKey });
  switch (access) {
    case "caller":
      return callerAccess(dataStream);
    case "public":
      return {
        parameters: [],
        cacheControl: (ttl) => `public, max-age=${Math.floor(ttl / 1000)}, no-transform`,
        vary: undefined,
        serverDataStream: dataStream,
        authorize: () => Promise.resolve(dataStream),
        authorizePage: () => Promise.resolve(dataStream),
      };
    case "token":
      return tokenAccess(dataStream, settings);
    case "signed":
      return {
        ...tokenAccess(dataStream, settings),
        parameters: SIGNATURE_PARAMETERS,
        vary: undefined,
        authorize: (request) => authorizeBySignature(request, dataStream, settings),
      };
  }
}

/**
 * API key of the client from which `callerAccess()` creates those of the callers. It is never sent. A
 * client without a key would accept a base URL that sends keys unencrypted.
 */
const PLACEHOLDER_KEY = "caller";

function callerAccess(dataStream: DataStream): AccessControl {
  const keyOf = ({ headers }: Request) => headers.get("x-api-key")?.trim();
  return {
    parameters: [],
    cacheControl: NO_CACHE,
    vary: "x-api-key",
    serverDataStream: dataStream.with({ apiKey: undefined }),
    // deno-lint-ignore require-await -- a malformed key must reject, not throw
    async authorize(request) {
      const key = keyOf(request);
      if (key) return dataStream.with({ apiKey: key });
      throw new HttpProblem({
        status: 401,
        title: "No API key",
        detail: "The request has no x-api-key header",
        hint:
          `send your own DataStream API key, or request one at ${KEY_SOURCE}; this server uses ` +
          "the key for this request only",
      });
    },
    // deno-lint-ignore require-await -- a malformed key must reject, not throw
    async authorizePage(request) {
      const key = keyOf(request);
      return key ? dataStream.with({ apiKey: key }) : undefined;
    },
  };
}

function tokenAccess(dataStream: DataStream, { tokens }: Settings): AccessControl {
  return {
    parameters: [],
    cacheControl: NO_CACHE,
    vary: "authorization",
    serverDataStream: dataStream,
    async authorize(request) {
      await requireKnownToken(bearerToken(request), tokens);
      return dataStream;
    },
    async authorizePage(request, formToken) {
      const token = formToken ?? bearerToken(request);
      if (token === undefined) return undefined;
      await requireKnownToken(token, tokens);
      return dataStream;
    },
  };
}

async function authorizeBySignature(
  request: Request,
  dataStream: DataStream,
  { signingSecret, tokens, now }: Settings,
): Promise<DataStream> {
  const status = await verifyUrl(new URL(request.url), signingSecret, now());
  if (status === "valid") return dataStream;
  // Without tokens there is no page.
  const newUrlHint = "ask the operator of this server for a signed URL" +
    (tokens.length > 0 ? ", or make one on the page /" : "");
  const problems = {
    unsigned: {
      title: "URL not signed",
      detail: "The URL has no signature",
      hint: newUrlHint,
    },
    expired: {
      title: "URL expired",
      detail: "The signed URL has expired",
      hint: newUrlHint,
    },
    invalid: {
      title: "Signature invalid",
      detail: "The signature does not match the URL",
      hint: "use the complete URL without changes; each query needs its own signed URL",
    },
  };
  throw new HttpProblem({ status: 403, ...problems[status] });
}

/**
 * Checks a token.
 *
 * @param token The token, or `undefined` if the request has none
 * @throws {HttpProblem} 401 if it is not one of the known tokens
 */
export async function requireKnownToken(
  token: string | undefined,
  known: readonly string[],
): Promise<void> {
  if (token !== undefined && await isKnownToken(token, known)) return;
  throw new HttpProblem({
    status: 401,
    title: token === undefined ? "No token" : "Token refused",
    detail: token === undefined
      ? "The request has no authorization: Bearer header"
      : "The token is not one of this server's tokens",
    hint: "ask the operator of this server for a token",
  }, { "www-authenticate": token === undefined ? "Bearer" : 'Bearer error="invalid_token"' });
}

/** Returns the token in the header `authorization: Bearer`, if any. */
export function bearerToken({ headers }: Request): string | undefined {
  return /^bearer +(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/**
 * Compares a token with each known one. Compares SHA-256 digests, and does not stop at the first
 * difference or match, so that the time does not depend on the known tokens.
 */
async function isKnownToken(token: string, known: readonly string[]): Promise<boolean> {
  const digest = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const received = await digest(token);
  let isKnown = false;
  for (const expected of await Promise.all(known.map(digest))) {
    let difference = 0;
    for (const [index, byte] of expected.entries()) difference |= byte ^ received[index]!;
    isKnown = difference === 0 || isKnown;
  }
  return isKnown;
}
