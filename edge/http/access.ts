// Which callers may use the server: by their key, a token, a signed URL, or all of them.
import { timingSafeEqual } from "hono/utils/buffer";
import { sha256Hex } from "../../src/bytes.ts";
import { DataStream } from "../../src/client/datastream.ts";
import type { Credential } from "../../src/formats/code_snippets.ts";
import { KEY_SOURCE } from "../../src/service_constants.ts";
import { SIGNATURE_PARAMETERS, verifyUrl } from "../../src/signing/signed_url.ts";
import type { Exchange } from "./exchange.ts";
import { type AccessMode, type AccessToken, isWorkers, type Settings } from "./options.ts";
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
  /** Also sets the client of the exchange. Throws an {@linkcode HttpProblem} with status 401 or 403. */
  authorize(exchange: Exchange): Promise<Authorized>;
  /** `undefined` without credentials. Also sets the name of the token in the facts. */
  authorizePage(exchange: Exchange): Promise<Authorized | undefined>;
}

/** What a caller must send. Responses vary by this header. */
export const CREDENTIALS: Readonly<Partial<Record<AccessMode, Credential>>> = {
  caller: { header: "x-api-key", prefix: "", variable: "DATASTREAM_API_KEY" },
  token: { header: "authorization", prefix: "Bearer ", variable: "WEIR_TOKEN" },
};
/** Never sent. With a key, the client rejects a base URL that would send keys unencrypted. */
const PLACEHOLDER_KEY = "caller";

/** @throws {ValidationError} If an option of `DataStream` is invalid */
export function createAccessControl(settings: Settings): AccessControl {
  const { access, dataStreamOptions, tokens } = settings;
  const isCaller = access === "caller";
  const apiKey = isCaller ? PLACEHOLDER_KEY : settings.apiKey;
  const dataStream = new DataStream({ ...dataStreamOptions, apiKey });
  const server: Authorized = isCaller
    ? { dataStream: dataStream.with({ apiKey: undefined }), apiKey: undefined }
    : { dataStream, apiKey };

  async function authorizePage({ request, facts }: Exchange): Promise<Authorized | undefined> {
    if (access === "public") return server;
    if (isCaller) {
      const key = request.headers.get("x-api-key")?.trim();
      if (!key) return undefined;
      return { dataStream: dataStream.with({ apiKey: key }), apiKey: key, credential: key };
    }
    const token = bearerToken(request);
    if (token === undefined) return undefined;
    facts.token = (await requireKnownToken(token, tokens)).name;
    return { ...server, credential: token };
  }
  let hasWarned = false;
  async function authorize(exchange: Exchange) {
    const { request } = exchange;
    if (access === "signed") await requireSignature(request, settings);
    const authorized = access === "signed" ? server : await authorizePage(exchange);
    if (authorized === undefined) throw isCaller ? noKey() : noToken();
    exchange.client = await identifyClient(exchange, authorized.credential, settings);
    const { clientAddressHeader } = settings;
    if (exchange.client === undefined && clientAddressHeader !== undefined && !hasWarned) {
      hasWarned = true;
      // Its value could be personal data.
      exchange.log.logMessage(
        `The header ${clientAddressHeader} contains no address, so all clients count as one: set ` +
          "clientAddressHeader (WEIR_CLIENT_ADDRESS_HEADER) to a header with addresses only, such as x-forwarded-for",
        "warn",
      );
    }
    return authorized;
  }
  return {
    parameters: access === "signed" ? SIGNATURE_PARAMETERS : [],
    cacheControl: (ttl) =>
      access === "public"
        ? `public, max-age=${Math.floor(ttl / 1000)}, no-transform`
        : "private, no-store, no-transform",
    vary: CREDENTIALS[access]?.header,
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

export async function requireKnownToken(
  token: string | undefined,
  known: readonly AccessToken[],
  challenge?: string,
): Promise<AccessToken> {
  if (token === undefined) throw noToken(challenge);
  const matches = await Promise.all(known.map(({ secret }) => timingSafeEqual(token, secret)));
  const found = known[matches.indexOf(true)];
  if (found !== undefined) return found;
  const detail = "The token is not one of this server's tokens";
  throw tokenProblem("Token refused", detail, challenge ?? 'Bearer error="invalid_token"');
}

function noToken(challenge = "Bearer"): HttpProblem {
  return tokenProblem("No token", "The request has no authorization: Bearer header", challenge);
}

function tokenProblem(title: string, detail: string, challenge: string): HttpProblem {
  const hint = "ask the operator of this server for a token";
  const headers = { "www-authenticate": challenge };
  return new HttpProblem({ status: 401, title, detail, hint }, headers);
}

export function bearerToken({ headers }: Request): string | undefined {
  return /^bearer +(\S+)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/** Second argument of a handler in Deno, Bun or `@hono/node-server`, or an object with only `clientAddress`. */
interface ConnectionInfo {
  remoteAddr: { hostname: string };
  requestIP(request: Request): { address: string } | null;
  incoming: { socket: { remoteAddress?: string } };
  clientAddress: string;
}

/** Cloudflare sets this header; a client cannot choose its value. */
const CLOUDFLARE_HEADER = "cf-connecting-ip";

/** Returns the SHA-256 of a token or key, if access requires one, or else the address of the client. */
async function identifyClient(
  { request, connection }: Exchange,
  credential: string | undefined,
  { clientAddressHeader = isWorkers() ? CLOUDFLARE_HEADER : undefined }: Settings,
): Promise<string | undefined> {
  if (credential !== undefined) return await sha256Hex(credential);
  const value = clientAddressHeader === undefined ? null : request.headers.get(clientAddressHeader);
  // A proxy appends the address of its client. A client can choose only the addresses before it.
  return toNetwork(value?.split(",").at(-1) ?? addressOf(connection, request));
}

function addressOf(connection: unknown, request: Request): string {
  if (typeof connection !== "object" || connection === null) return "";
  const info = connection as Partial<ConnectionInfo>;
  const address: unknown = info.clientAddress ?? info.remoteAddr?.hostname ??
    info.incoming?.socket?.remoteAddress ??
    (typeof info.requestIP === "function" ? info.requestIP(request)?.address : undefined);
  return typeof address === "string" ? address : "";
}

/** Returns an IPv4 address, or the /64 network of an IPv6 address: a subscriber has at least one (RFC 6177). */
function toNetwork(text: string): string | undefined {
  const address = text.trim().replace(/%[^\]]*/, "");
  if (!/^[\da-f:.[\]]+$/i.test(address)) return undefined;
  // The URL standard defines one form of each address, and allows a port.
  const [url] = [`http://[${address}]`, `http://${address}`].filter((url) => URL.canParse(url));
  const host = url === undefined ? "" : new URL(url).hostname;
  if (/^\d+(\.\d+){3}$/.test(host)) return host;
  if (!host.startsWith("[")) return undefined;
  const [, high = "", low = ""] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(host) ?? [];
  // An IPv4 address can also be one hexadecimal number.
  if (high !== "") return new URL(`http://0x${high}${low.padStart(4, "0")}`).hostname;
  const [before = [], after = []] = host.slice(1, -1).split("::")
    .map((part) => part.split(":").filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return `${[...before, ...zeros, ...after].slice(0, 4).join(":")}::/64`;
}
