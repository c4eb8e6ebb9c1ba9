// Identifies the client of a download, for the fair distribution of downloads.
import { sha256Hex } from "../src/bytes.ts";
import { bearerToken } from "./access.ts";
import { defaultAddressHeader, findClientAddress } from "./client_address.ts";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./options.ts";

/** Returns an identifier of the client of an authorized request; `undefined` if the client is unknown. */
export type IdentifyClient = (exchange: Exchange) => Promise<string | undefined>;

/**
 * Creates the function that identifies clients: by the SHA-256 of the token or of the API key if access requires one,
 * else by address. It logs one warning if the header of the address contains none.
 */
export function createClientIdentifier(
  { access, clientAddressHeader = defaultAddressHeader() }: Settings,
): IdentifyClient {
  let hasWarned = false;
  return async (exchange) => {
    const { request, connection } = exchange;
    if (access === "token" || access === "caller") {
      const credential = access === "token"
        ? bearerToken(request)
        : request.headers.get("x-api-key")?.trim();
      return credential && await sha256Hex(credential);
    }
    const { network, isMalformed } = findClientAddress(request, clientAddressHeader, connection);
    if (isMalformed && !hasWarned) {
      hasWarned = true;
      // Its value could be personal data.
      exchange.logWarning(
        `The header ${clientAddressHeader} contains no address, so all clients count as one: set ` +
          "clientAddressHeader (WEIR_CLIENT_ADDRESS_HEADER) to a header with addresses only, such as x-forwarded-for",
      );
    }
    return network;
  };
}
