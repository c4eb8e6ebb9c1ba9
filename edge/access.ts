import { DataStream } from "../src/client/datastream.ts";
import { KEY_SOURCE } from "../src/service_roots.ts";
import { SIGNATURE_PARAMETERS, verifyUrl } from "../src/signing/signed_url.ts";
import type { Settings } from "./options.ts";
import { HttpProblem } from "./problem.ts";

/** Decides which requests may use the service, and with which API key. */
export interface Access {
  /** URL parameters that this access mode adds to those of a query. */
  parameters: readonly string[];
  /** Value of `cache-control` for successful responses. */
  cacheControl: string;
  /** Request header that responses vary by. */
  vary: string | undefined;
  /**
   * Returns the client for a download.
   *
   * @throws {HttpProblem} 401 or 403 if the request is not authorized
   * @throws {ValidationError} If its API key is malformed
   */
  authorize(request: Request): Promise<DataStream>;
  /**
   * Returns the client for the web page, which counts and previews.
   *
   * @param token Token that a form without script sent in its body
   * @returns The client, or `undefined` if the request has no credentials
   * @throws {HttpProblem} 401 if its token is wrong
   * @throws {ValidationError} If its API key is malformed
   */
  authorizePage(request: Request, token: string | undefined): Promise<DataStream | undefined>;
}

/** For responses that depend on credentials, or must not outlive a signed URL. */
const NO_CACHE = "private, no-store, no-transform";
/** For public responses. Data changes only when a dataset is published again, which is rare. */
const SHORT_CACHE = "public, max-age=300, no-transform";

/**
 * Creates the access control of an app.
 *
 * @throws {ValidationError} If an option of the client is invalid
 */
export function createAccess(settings: Settings): Access {
  const { access, apiKey, clientOptions } = settings;
  if (access === "caller") return callerAccess(clientOptions);
  const client = new DataStream({ ...clientOptions, apiKey });
  switch (access) {
    case "public":
      return {
        parameters: [],
        cacheControl: SHORT_CACHE,
        vary: undefined,
        authorize: () => Promise.resolve(client),
        authorizePage: () => Promise.resolve(client),
      };
    case "token":
      return tokenAccess(client, settings);
    case "signed":
      return {
        ...tokenAccess(client, settings),
        parameters: SIGNATURE_PARAMETERS,
        vary: undefined,
        authorize: (request) => authorizeBySignature(request, client, settings),
      };
  }
}

function callerAccess(clientOptions: Settings["clientOptions"]): Access {
  // Checks the other options when the server starts, not on each request.
  new DataStream({ ...clientOptions, apiKey: "caller" });
  const keyOf = ({ headers }: Request) => headers.get("x-api-key")?.trim();
  const clientOf = (apiKey: string) => new DataStream({ ...clientOptions, apiKey });
  return {
    parameters: [],
    cacheControl: NO_CACHE,
    vary: "x-api-key",
    // deno-lint-ignore require-await -- a malformed key must reject, not throw
    async authorize(request) {
      const key = keyOf(request);
      if (key) return clientOf(key);
      throw new HttpProblem({
        status: 401,
        title: "No API key",
        detail: "The request has no x-api-key header",
        hint: `send your own DataStream API key, or request one at ${KEY_SOURCE}; the server ` +
          "uses it for this request only",
      });
    },
    // deno-lint-ignore require-await -- a malformed key must reject, not throw
    async authorizePage(request) {
      const key = keyOf(request);
      return key ? clientOf(key) : undefined;
    },
  };
}

function tokenAccess(client: DataStream, settings: Settings): Access {
  return {
    parameters: [],
    cacheControl: NO_CACHE,
    vary: "authorization",
    authorize: (request) => authorizeByToken(bearerToken(request), client, settings),
    async authorizePage(request, formToken) {
      const token = formToken ?? bearerToken(request);
      return token === undefined ? undefined : await authorizeByToken(token, client, settings);
    },
  };
}

async function authorizeBySignature(
  request: Request,
  client: DataStream,
  { signingSecret, now }: Settings,
): Promise<DataStream> {
  const status = await verifyUrl(new URL(request.url), signingSecret, now());
  if (status === "valid") return client;
  const details = {
    unsigned: "The URL has no signature",
    expired: "The signed URL has expired",
    invalid: "The signature does not match the URL",
  };
  throw new HttpProblem({
    status: 403,
    title: status === "expired" ? "URL expired" : "URL not signed",
    detail: details[status],
    hint: status === "invalid"
      ? "use the complete URL without changes; each query needs its own signed URL"
      : "ask the operator of this server for a signed URL, or make one on the page /",
  });
}

async function authorizeByToken(
  token: string | undefined,
  client: DataStream,
  { tokens }: Settings,
): Promise<DataStream> {
  if (token !== undefined && await isKnownToken(token, tokens)) return client;
  throw new HttpProblem({
    status: 401,
    title: token === undefined ? "No token" : "Token refused",
    detail: token === undefined
      ? "The request has no authorization: Bearer header"
      : "The token is not one of this server's tokens",
    hint: "ask the operator of this server for a token",
  }, { "www-authenticate": token === undefined ? "Bearer" : 'Bearer error="invalid_token"' });
}

function bearerToken({ headers }: Request): string | undefined {
  return /^bearer +(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/**
 * Compares a token with each known one. Compares SHA-256 digests and does not stop at the first
 * difference or match, so that the time reveals nothing about the known tokens.
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
