// Identifies the client of a download, for the limit of concurrent downloads per client.
import { sha256Hex } from "../src/bytes.ts";
import { bearerToken } from "./access.ts";
import { defaultAddressHeader, findClientAddress } from "./client_address.ts";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./options.ts";
import { searchParamsOf } from "./request_log.ts";

/**
 * Returns an identifier of the client of an authorized request; `undefined` if clients have no limit, or the
 * client is unknown.
 */
export type IdentifyClient = (exchange: Exchange) => Promise<string | undefined>;

/**
 * Creates the function that identifies clients: by address for `public` access, else by the SHA-256 of the
 * token, the signature or the API key. It logs one warning if addresses are hidden, or if the header contains
 * none.
 */
export function createClientIdentifier(
  { access, maxDownloadsPerClient, clientAddressHeader = defaultAddressHeader() }: Settings,
): IdentifyClient {
  if (maxDownloadsPerClient === Infinity) return () => Promise.resolve(undefined);
  if (access !== "public") {
    return async ({ request }) => {
      const { headers, url } = request;
      const credential = {
        caller: () => headers.get("x-api-key")?.trim(),
        signed: () => searchParamsOf(url).get("signature"),
        token: () => bearerToken(request),
      }[access]();
      return credential ? await sha256Hex(credential) : undefined;
    };
  }
  let hasWarned = false;
  return (exchange) => {
    const { request, connection } = exchange;
    const address = findClientAddress(request, clientAddressHeader, connection);
    if ((address.isHidden || address.isMalformed) && !hasWarned) {
      hasWarned = true;
      exchange.logWarning(
        address.isHidden ? HIDDEN_ADDRESS : malformedAddress(clientAddressHeader!),
      );
    }
    return Promise.resolve(address.network);
  };
}

const HIDDEN_ADDRESS =
  "Downloads per client are not limited, because a proxy or a private network hides the addresses of " +
  "clients: set clientAddressHeader (WEIR_CLIENT_ADDRESS_HEADER) to the header in which a proxy sends them";

/** Returns the warning for a header that contains no address. Its value could be personal data. */
function malformedAddress(header: string): string {
  return `Downloads per client are not limited, because the header ${header} contains no address: set ` +
    "clientAddressHeader (WEIR_CLIENT_ADDRESS_HEADER) to a header with addresses only, such as x-forwarded-for";
}
