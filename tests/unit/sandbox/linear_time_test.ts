// Malformed query strings: the sandbox answers each in linear time.
import "../../helpers/no_permission.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { assertEquals } from "@std/assert";
import { assertLinear } from "../../helpers/doubling.ts";

const { apiKey, url, fetch } = createSandbox({ records: 10, requestsPerSecond: Infinity });

async function statusOf(query: string): Promise<number> {
  const response = await fetch(`${url}/Metadata?${query}`, { headers: { "x-api-key": apiKey } });
  await response.body?.cancel();
  return response.status;
}

const queries: [what: string, status: number, query: (size: number) => string][] = [
  ["n &", 200, (n) => "&".repeat(n)],
  ["n unknown options", 400, (n) => "a&".repeat(n)],
  ["n clauses", 200, (n) => `%24filter=${"RegionId%20eq%20'a'%20and%20".repeat(n)}DOI%20eq%20'a'`],
  ["a date of n digits", 400, (n) => `%24filter=CreateTimestamp%20gt%20'${"1".repeat(n)}'`],
  ["one field selected n times", 200, (n) => `%24select=${"Id,".repeat(n)}Id`],
  ["n hyphens in a token", 400, (n) => `%24skiptoken=Id:${"a-".repeat(n)}`],
];
for (const [what, status, query] of queries) {
  Deno.test(`createSandbox().fetch() answers ${status} in linear time when a query has ${what}`, async () => {
    await assertLinear(query, statusOf);
    assertEquals(await statusOf(query(999)), status);
  });
}
