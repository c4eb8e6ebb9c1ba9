/**
 * Root URL of the service, with production data.
 *
 * Source: DataStream Public API, "Endpoints".
 *
 * @example Requests without a base URL go to production
 * ```ts
 * import { endpoint, PRODUCTION_URL } from "@weir/datastream";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(endpoint("/Metadata").url, `${PRODUCTION_URL}/Metadata`);
 * ```
 */
export const PRODUCTION_URL = "https://api.datastream.org/v1/odata/v4";

/**
 * Root URL of the service's test system, for trying out a script.
 *
 * Source: DataStream Public API, "Endpoints".
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

/** Page with the link to the form for an API key. */
export const KEY_SOURCE = "https://github.com/datastreamapp/api-docs/blob/main/docs/README.md";

/**
 * Maximum number of requests per second that the service allows for one key.
 *
 * Source: DataStream Public API, "Errors", status 429.
 */
export const MAX_REQUESTS_PER_SECOND = 2;

/** Visible ASCII characters, which a header can carry. */
export const API_KEY_PATTERN = /^(?!["'])[\x21-\x7e]+$/;

/** The service answers with plain JSON. */
export const SERVICE_MEDIA_TYPE = "application/vnd.api+json";

/**
 * Maximum time (ms) between the publication of a dataset and the first response with its new rows. An assumption of Weir:
 * DataStream states no time.
 */
export const PUBLICATION_TIME = 600_000;

/** Whether a URL is of DataStream itself. Its host name may end with a dot. */
export function isOfService(url: string): boolean {
  const hostname = new URL(url).hostname.replace(/\.$/, "");
  return [PRODUCTION_URL, QA_URL].some((root) => hostname === new URL(root).hostname);
}
