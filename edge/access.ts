import { timingSafeEqual } from "hono/utils/buffer";
import { DataStream } from "../src/client/datastream.ts";
import { KEY_SOURCE } from "../src/service_constants.ts";
import { SIGNATURE_PARAMETERS, verifyUrl } from "../src/signing/signed_url.ts";
import type { AccessMode, Settings } from "./options.ts";
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
  const { access, dataStreamOptions, tokens } = settings;
  const apiKey = access === "caller" ? PLACEHOLDER_KEY : settings.apiKey;
  const dataStream = new DataStream({ ...dataStreamOptions, apiKey });
  const withCredentials = {
    parameters: [],
    cacheControl: NO_CACHE,
    vary: undefined,
    serverDataStream: dataStream,
  };
  const withToken: AccessControl = {
    ...withCredentials,
    vary: "authorization",
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
  const modes: Record<AccessMode, AccessControl> = {
    caller: {
      ...withCredentials,
      vary: "x-api-key",
      serverDataStream: dataStream.with({ apiKey: undefined }),
      async authorize(request) {
        const client = await withKeyOf(request, dataStream);
        if (client !== undefined) return client;
        throw new HttpProblem({
          status: 401,
          title: "No API key",
          detail: "The request has no x-api-key header",
          hint: `send your own DataStream API key, or request one at ${KEY_SOURCE}; this server ` +
            "uses the key for this request only",
        });
      },
      authorizePage: (request) => withKeyOf(request, dataStream),
    },
    public: {
      ...withCredentials,
      cacheControl: (ttl) => `public, max-age=${Math.floor(ttl / 1000)}, no-transform`,
      authorize: () => Promise.resolve(dataStream),
      authorizePage: () => Promise.resolve(dataStream),
    },
    token: withToken,
    signed: {
      ...withToken,
      parameters: SIGNATURE_PARAMETERS,
      vary: undefined,
      async authorize(request) {
        await requireSignature(request, settings);
        return dataStream;
      },
    },
  };
  return modes[access];
}

/**
 * API key of the client from which `callerAccess()` creates those of the callers. It is never sent. A
 * client without a key would accept a base URL that sends keys unencrypted.
 */
const PLACEHOLDER_KEY = "caller";

/** Returns a client with the API key of a request; `undefined` if it has none. */
// deno-lint-ignore require-await -- a malformed key must reject, not throw
async function withKeyOf(
  { headers }: Request,
  dataStream: DataStream,
): Promise<DataStream | undefined> {
  const apiKey = headers.get("x-api-key")?.trim();
  return apiKey ? dataStream.with({ apiKey }) : undefined;
}

/** @throws {HttpProblem} 403 if the URL has no valid signature */
async function requireSignature(
  { url }: Request,
  { signingSecret, tokens, now }: Settings,
): Promise<void> {
  const status = await verifyUrl(new URL(url), signingSecret, now());
  if (status === "valid") return;
  // Without tokens there is no page.
  const newUrlHint = "ask the operator of this server for a signed URL" +
    (tokens.length > 0 ? ", or make one on the page /" : "");
  const [title, detail, hint = newUrlHint] = {
    unsigned: ["URL not signed", "The URL has no signature"],
    expired: ["URL expired", "The signed URL has expired"],
    invalid: [
      "Signature invalid",
      "The signature does not match the URL",
      "use the complete URL without changes; each query needs its own signed URL",
    ],
  }[status];
  throw new HttpProblem({ status: 403, title: title!, detail: detail!, hint });
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
  const matches = known.map((expected) => timingSafeEqual(token ?? "", expected));
  if ((await Promise.all(matches)).includes(true)) return;
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
