/**
 * The root address of the DataStream service, for production data.
 *
 * Source: water-quality-api, Addresses.
 *
 * @example What a request without a base URL is sent to
 * ```ts
 * import { endpoint, PRODUCTION_URL } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(endpoint("/Metadata").url, `${PRODUCTION_URL}/Metadata`);
 * ```
 */
export const PRODUCTION_URL = "https://api.datastream.org/v1/odata/v4";

/**
 * The root address of the service's test system, for trying out a script.
 *
 * Source: water-quality-api, Addresses.
 *
 * @example A client of the test system
 * ```ts
 * import { DataStream, QA_URL } from "@weir/datastream";
 * import { assert } from "@std/assert";
 *
 * const client = new DataStream({ apiKey: "YOUR-KEY", baseUrl: QA_URL });
 * assert(client.locations().url.startsWith(QA_URL));
 * ```
 */
export const QA_URL = "https://api.qa.datastream.org/v1/odata/v4";

/** Where to request an API key. */
export const KEY_SOURCE = "https://github.com/datastreamapp/api-docs";
