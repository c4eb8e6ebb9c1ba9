import { sha256Hex } from "../../src/bytes.ts";
import type { Exchange } from "./request_log.ts";
import { isWorkers, type Settings } from "../options.ts";

/** Second argument of a handler in Deno, Bun or `@hono/node-server`, or an object with only `clientAddress`. */
interface ConnectionInfo {
  remoteAddr: { hostname: string };
  requestIP(request: Request): { address: string } | null;
  incoming: { socket: { remoteAddress?: string } };
  clientAddress: string;
}

/** Cloudflare sets this header; a client cannot choose its value. */
const CLOUDFLARE_HEADER = "cf-connecting-ip";

export type IdentifyClient = (
  exchange: Exchange,
  credential: string | undefined,
) => Promise<string | undefined>;

/** Identifies clients by the SHA-256 of a token or key, if access requires one, else by address. */
export function createClientIdentifier(
  { clientAddressHeader = isWorkers() ? CLOUDFLARE_HEADER : undefined }: Settings,
): IdentifyClient {
  let hasWarned = false;
  return async ({ request, connection, logWarning }, credential) => {
    if (credential !== undefined) return await sha256Hex(credential);
    const value = clientAddressHeader === undefined
      ? null
      : request.headers.get(clientAddressHeader);
    if (value === null) return toNetwork(addressOf(connection, request));
    // A proxy appends the address of its client. A client can choose only the addresses before it.
    const network = toNetwork(value.split(",").at(-1)!);
    if (network === undefined && !hasWarned) {
      hasWarned = true;
      // Its value could be personal data.
      logWarning(
        `The header ${clientAddressHeader} contains no address, so all clients count as one: set ` +
          "clientAddressHeader (WEIR_CLIENT_ADDRESS_HEADER) to a header with addresses only, such as x-forwarded-for",
      );
    }
    return network;
  };
}

function addressOf(connection: unknown, request: Request): string {
  if (typeof connection !== "object" || connection === null) return "";
  const info = connection as Partial<ConnectionInfo>;
  const address: unknown = info.clientAddress ?? info.remoteAddr?.hostname ??
    info.incoming?.socket?.remoteAddress ??
    (typeof info.requestIP === "function" ? info.requestIP(request)?.address : undefined);
  return typeof address === "string" ? address : "";
}

/** One IPv6 subscriber has a /64 network (RFC 6177). */
function toNetwork(text: string): string | undefined {
  const [, ipv4] = /^(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/.exec(text.trim()) ?? [];
  if (ipv4 !== undefined) return isIpv4(ipv4) ? ipv4 : undefined;
  const [, bracketed, bare] = /^(?:\[([^\]]*)\](?::\d+)?|(.*))$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? bare ?? "").replace(/%.*$/, "");
  const groups = parseIpv6(address);
  if (groups === undefined) return undefined;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) {
    return groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]).join(".");
  }
  return `${groups.slice(0, 4).map((group) => group.toString(16)).join(":")}::/64`;
}

function isIpv4(address: string): boolean {
  return address.split(".").every((part) => Number(part) <= 255 && String(Number(part)) === part);
}

function parseIpv6(address: string): number[] | undefined {
  const url = `http://[${address}]/`;
  if (!/^[\da-f:.]+$/i.test(address) || !URL.canParse(url)) return undefined;
  // The URL standard defines one form of each address: hexadecimal groups, with at most one "::".
  const [before, after] = new URL(url).hostname.slice(1, -1).split("::").map((part) =>
    part === "" ? [] : part.split(":").map((group) => parseInt(group, 16))
  );
  if (after === undefined) return before;
  const zeros = Array.from({ length: 8 - before!.length - after.length }, () => 0);
  return [...before!, ...zeros, ...after];
}
