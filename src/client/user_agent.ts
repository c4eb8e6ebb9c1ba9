import { describe } from "../describe.ts";
import { VERSION } from "../version.ts";

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const PRODUCT = `${TOKEN}(?:/${TOKEN})?`;
const COMMENT = "\\([ -'*-~]*\\)";
const USER_AGENT = new RegExp(`^${PRODUCT}(?: (?:${PRODUCT}|${COMMENT}))*$`);

/**
 * The `user-agent` to send: the caller's product before Weir's own.
 *
 * @param product Products and comments, as `my-app/1.0 (mailto:me@example.org)`
 * @returns The header's value; undefined in a browser, which ignores the header or asks the service
 *   for leave to send it
 * @throws {TypeError} If it is no list of products: it could end the header and begin another
 *
 * Source: RFC 9110, section 10.1.5.
 */
export function toUserAgent(product: string | undefined): string | undefined {
  if (product !== undefined && !(typeof product === "string" && USER_AGENT.test(product))) {
    throw new TypeError(
      `userAgent must be a product and its version such as "my-app/1.0", got ${describe(product)}`,
    );
  }
  if (isBrowser()) return undefined;
  return `${product === undefined ? "" : `${product} `}weir/${VERSION}`;
}

/** Whether this is a page or a worker of a browser: every browser calls itself Mozilla. */
function isBrowser(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return navigator?.userAgent?.startsWith("Mozilla/") ?? false;
}
