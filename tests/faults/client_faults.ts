import type { Fault } from "./fault.ts";

/** Faults of the client: pages, the key, the pace, retries, splits. */
export const CLIENT_FAULTS: readonly Fault[] = [
  {
    name: "the last page is dropped",
    file: "src/client/follow.ts",
    find: "    yield page;",
    replacement: "    if (next !== undefined) yield page;",
    test: "tests/client/paging_test.ts",
  },
  {
    name: "a next link that repeats is followed for ever",
    file: "src/client/next_link.ts",
    find: "if (token === before || followed.has(token))",
    replacement: "if (token === undefined)",
    test: "tests/client/paging_test.ts",
  },
  {
    name: "a next link to another host is taken",
    file: "src/client/next_link.ts",
    find: "to.origin !== from.origin || ",
    replacement: "",
    test: "tests/client/paging_test.ts",
  },
  {
    name: "a redirect takes the key along",
    file: "src/endpoint/to_request.ts",
    find: 'redirect: "manual"',
    replacement: 'redirect: "follow"',
    test: "tests/client/faults_test.ts",
  },
  {
    name: "an error shows the key that the service repeats",
    file: "src/client/status_error.ts",
    find: "withoutKey(messageOf(body))",
    replacement: "messageOf(body)",
    test: "tests/client/faults_test.ts",
  },
  {
    name: "the gap between requests has no margin",
    file: "src/client/pace.ts",
    find: "const MARGIN = 1.06;",
    replacement: "const MARGIN = 1;",
    test: "tests/client/pace_test.ts",
  },
  {
    name: "a request starts before the one before it has ended",
    file: "src/client/pace.ts",
    find: "if (line.holder !== undefined && (stalled || line.leasedUntil > now)) return POLL;",
    replacement: "",
    test: "tests/client/pace_test.ts",
  },
  {
    name: "after 429 nobody waits",
    file: "src/client/run.ts",
    find: "if (hold !== undefined) holdBack(origin, { clock, key: service.apiKey }, hold);",
    replacement: "",
    test: "tests/client/retry_test.ts",
  },
  {
    name: "Retry-After is ignored",
    file: "src/client/status_error.ts",
    find: "retryAfter: readRetryAfter(response.headers)",
    replacement: "retryAfter: undefined",
    test: "tests/client/retry_test.ts",
  },
  {
    name: "after 413 the same page is asked for again",
    file: "src/client/retry.ts",
    find: "top: Math.floor(top / 2)",
    replacement: "top",
    test: "tests/client/retry_test.ts",
  },
  {
    name: "a page that is asked for again, smaller, begins at the start",
    file: "src/client/follow.ts",
    find: "toRequestOptions(run.service, resource, toOptions(rows))",
    replacement:
      "toRequestOptions(run.service, resource, { ...toOptions(rows), ...(rows! < top && { $skiptoken: undefined }) })",
    test: "tests/client/retry_test.ts",
  },
  {
    name: "a limit gives one row more",
    file: "src/client/page.ts",
    find: "value.slice(0, most)",
    replacement: "value.slice(0, most + 1)",
    test: "tests/client/paging_test.ts",
  },
  {
    name: "a split loses the rows of the first location of each part",
    file: "src/client/partition.ts",
    find: 'bound("gte", from)',
    replacement: 'bound("gt" as "gte", from)',
    test: "tests/client/partition_test.ts",
    only: "a count that says too little or too much loses no row",
  },
];
