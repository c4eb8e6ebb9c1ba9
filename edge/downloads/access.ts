import { timingSafeEqual } from "hono/utils/buffer";
import { DataStream } from "../../src/client/datastream.ts";
import { KEY_SOURCE } from "../../src/service_constants.ts";
import { SIGNATURE_PARAMETERS, verifyUrl } from "../../src/signing/signed_url.ts";
import type { AccessMode, Settings } from "../options.ts";
import { HttpProblem } from "./problem.ts";

interface Authorized {
  dataStream: DataStream;
  apiKey: string | undefined;
  credential?: string;
}

/** Decides which requests may use the service, and with which API key. */
export interface AccessControl {
  /** URL parameters that this access mode adds, such as `expires` and `signature`. */
  parameters: readonly string[];
  /** Value of `cache-control` if a shared cache may store a response for `ttl` (ms). */
  cacheControl(ttl: number): string;
  vary: string | undefined;
  server: Authorized;
  /** @throws {HttpProblem} 401 or 403 if not authorized */
  authorize(request: Request): Promise<Authorized>;
  /** `undefined` without credentials. Without JavaScript, a form sends `token` in the body. */
  authorizePage(request: Request, token?: string): Promise<Authorized | undefined>;
}

/** Request header that responses vary by. */
const VARY: Partial<Record<AccessMode, string>> = { caller: "x-api-key", token: "authorization" };
/** Never sent. Without a key, a base URL that sends keys unencrypted would pass the check. */
const PLACEHOLDER_KEY = "caller";

/** @throws {ValidationError} If an option of `DataStream` is invalid */
export function createAccessControl(settings: Settings): AccessControl {
  const { access, dataStreamOptions, tokens } = settings;
  const isCaller = access === "caller";
  const apiKey = isCaller ? PLACEHOLDER_KEY : settings.apiKey;
  const dataStream = new DataStream({ ...dataStreamOptions, apiKey });
  const server = isCaller
    ? { dataStream: dataStream.with({ apiKey: undefined }), apiKey: undefined }
    : { dataStream, apiKey };

  async function authorizePage(request: Request, formToken?: string) {
    if (access === "public") return server;
    if (isCaller) {
      const key = request.headers.get("x-api-key")?.trim();
      if (!key) return undefined;
      return { dataStream: dataStream.with({ apiKey: key }), apiKey: key, credential: key };
    }
    const token = formToken ?? bearerToken(request);
    if (token === undefined) return undefined;
    await requireKnownToken(token, tokens);
    return { ...server, credential: token };
  }
  async function authorize(request: Request) {
    if (access === "signed") {
      await requireSignature(request, settings);
      return server;
    }
    const authorized = await authorizePage(request);
    if (authorized !== undefined) return authorized;
    throw isCaller ? noKey() : noToken();
  }
  return {
    parameters: access === "signed" ? SIGNATURE_PARAMETERS : [],
    cacheControl: (ttl) =>
      access === "public"
        ? `public, max-age=${Math.floor(ttl / 1000)}, no-transform`
        : "private, no-store, no-transform",
    vary: VARY[access],
    server,
    authorize,
    authorizePage,
  };
}

function noKey(): HttpProblem {
  return new HttpProblem({
    status: 401,
    title: "No API key",
    detail: "The request has no x-api-key header",
    hint: `send your own DataStream API key, or request one at ${KEY_SOURCE}; this server ` +
      "uses the key for this request only",
  });
}

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

/** @throws {HttpProblem} 401 if the token is not one of the known tokens */
export async function requireKnownToken(
  token: string | undefined,
  known: readonly string[],
): Promise<void> {
  if (token === undefined) throw noToken();
  const matches = known.map((expected) => timingSafeEqual(token, expected));
  if ((await Promise.all(matches)).includes(true)) return;
  throw new HttpProblem({
    status: 401,
    title: "Token refused",
    detail: "The token is not one of this server's tokens",
    hint: TOKEN_HINT,
  }, { "www-authenticate": 'Bearer error="invalid_token"' });
}

const TOKEN_HINT = "ask the operator of this server for a token";

function noToken(): HttpProblem {
  return new HttpProblem({
    status: 401,
    title: "No token",
    detail: "The request has no authorization: Bearer header",
    hint: TOKEN_HINT,
  }, { "www-authenticate": "Bearer" });
}

export function bearerToken({ headers }: Request): string | undefined {
  return /^bearer +(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
}
