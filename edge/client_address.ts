// Address of a client, from the connection or from a header of a proxy.
import { isWorkers } from "./runtime.ts";

/**
 * Second argument of `EdgeApp.fetch()`. Each runtime passes one of the first three members. A program that
 * serves the app in another way passes `clientAddress`.
 */
interface ConnectionInfo {
  /** Deno. */
  remoteAddr: { hostname: string };
  /** Bun: its server. */
  requestIP(request: Request): { address: string } | null;
  /** `@hono/node-server`. */
  incoming: { socket: { remoteAddress?: string } };
  clientAddress: string;
}

/** Header in which Cloudflare sends the address of a client to a Worker. A client cannot choose its value. */
const CLOUDFLARE_HEADER = "cf-connecting-ip";

/** Returns the header with the address of the client on this runtime, unless an option names another one. */
export function defaultAddressHeader(): string | undefined {
  return isWorkers() ? CLOUDFLARE_HEADER : undefined;
}

/** Address of a client. */
export interface ClientAddress {
  /** The IPv4 address, or the first 64 bits of the IPv6 address; `undefined` if it is not known. */
  network: string | undefined;
  /** Whether the header of the proxy contains no address. */
  isMalformed: boolean;
}

/**
 * Returns the address of the client of a request.
 *
 * @param header Header in which a proxy sends the address; `undefined` to use the address of the connection
 * @param connection Second argument of `EdgeApp.fetch()`
 */
export function findClientAddress(
  request: Request,
  header: string | undefined,
  connection: unknown,
): ClientAddress {
  const value = header === undefined ? null : request.headers.get(header);
  if (value === null) {
    return { network: toNetwork(addressOf(connection, request)), isMalformed: false };
  }
  // A proxy appends the address of its client. A client can choose only the addresses before it.
  const network = toNetwork(value.split(",").at(-1)!);
  return { network, isMalformed: network === undefined };
}

function addressOf(connection: unknown, request: Request): string {
  if (typeof connection !== "object" || connection === null) return "";
  const info = connection as Partial<ConnectionInfo>;
  const address: unknown = info.clientAddress ?? info.remoteAddr?.hostname ??
    info.incoming?.socket?.remoteAddress ??
    (typeof info.requestIP === "function" ? info.requestIP(request)?.address : undefined);
  return typeof address === "string" ? address : "";
}

/**
 * Returns the network that is counted as one client: an IPv4 address, or the /64 network of an IPv6 address.
 * One subscriber has all addresses of such a network (RFC 6177). An IPv4-mapped IPv6 address is an IPv4 address.
 *
 * @param text An address, which may have a port, brackets or a zone
 * @returns `undefined` if the text is not an address
 */
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

/** Returns the eight groups of an IPv6 address; `undefined` if the text is not one. */
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
