// Malformed query strings: the sandbox answers each in linear time.
import "../../helpers/no_permission.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { assertLinear } from "../../helpers/assert_linear.ts";

const { apiKey, url, fetch } = createSandbox({ records: 10, requestsPerSecond: Infinity });
const queries: Record<string, (size: number) => string> = {
  "n unknown options": (n) => "a&".repeat(n),
  "n clauses": (n) => `%24filter=${"RegionId%20eq%20'a'%20and%20".repeat(n)}DOI%20eq%20'a'`,
  "a date of n digits": (n) => `%24filter=CreateTimestamp%20gt%20'${"1".repeat(n)}'`,
  "n hyphens in a token": (n) => `%24skiptoken=Id:${"a-".repeat(n)}`,
};
for (const [what, query] of Object.entries(queries)) {
  Deno.test(`createSandbox().fetch() answers in linear time when a query has ${what}`, async () =>
    await assertLinear(query, async (text) => {
      const request = new Request(`${url}/Metadata?${text}`, { headers: { "x-api-key": apiKey } });
      await (await fetch(request)).text();
    }));
}
