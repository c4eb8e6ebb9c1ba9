/** What Weir assumes, and the sandbox does. `weir doctor` checks each row with the service. */
export interface Assumption {
  /** End of a sentence that begins with "Weir assumes that". */
  text: string;
  /** Where it is written, or why it is assumed. */
  source: string;
  /** What Weir does, or what a person must do, if it is not so. */
  otherwise: string;
  /** Whether Weir handles it, so that results stay complete. Default false. */
  isHandled?: true;
}

const FORMAT = 'DataStream Public API, "Response Format"';
const PARAMETERS = 'DataStream Public API, "URL Parameters"';
const ENDPOINTS = 'DataStream Public API, "Endpoints"';
const ERRORS = 'DataStream Public API, "Errors"';
const OPENAPI = "OpenAPI file of DataStream";
const FIREWALL = "module of DataStream's firewall; not known whether it is before the API";
const COMPUTER = "Weir";

const row = (text: string, source: string, otherwise: string): Assumption => ({
  text,
  source,
  otherwise,
});
const handled = (text: string, source: string, otherwise: string): Assumption => ({
  ...row(text, source, otherwise),
  isHandled: true,
});
const operator = (name: string) =>
  row(`the operator ${name} selects the right rows`, PARAMETERS, "filters with it are wrong");
const fields = (resource: string) =>
  row(`${resource} have all fields`, ENDPOINTS, "name the other fields with --select");

/** In the order of the output of `weir doctor`. */
export const ASSUMPTIONS = {
  runtime: row("the runtime is supported", COMPUTER, "install a supported version"),
  "key file": row("only you can read the file of the key", COMPUTER, "run chmod 600 on the file"),
  proxy: handled("the runtime uses the proxy variables", COMPUTER, "requests do not use the proxy"),
  address: row("the address answers, with a valid certificate", ENDPOINTS, "nothing works"),
  clock: handled(
    "the clocks of computer and service differ by at most 5 minutes",
    COMPUTER,
    "Weir uses the time of the service for publications",
  ),
  key: row("the API key is accepted", 'DataStream Public API, "API Keys"', "nothing works"),
  page: row("a page is JSON with the list `value`", FORMAT, "queries fail"),
  "fields of Metadata": fields("Metadata"),
  "fields of Locations": fields("Locations"),
  "fields of Observations": fields("Observations"),
  "fields of Records": fields("Records"),
  "new fields": handled(
    "there are no other fields",
    ENDPOINTS,
    "rows have them; --unchecked lets --select name them",
  ),
  types: handled(
    "values have the types of their fields",
    ENDPOINTS,
    "CSV and JSON have what arrives; Parquet needs --allow-invalid",
  ),
  select: handled("rows have only the fields of `$select`", PARAMETERS, "pages are larger"),
  link: handled(
    "a page has a link if there are more rows",
    FORMAT,
    "Weir asks for the rows after the last Id of a full page",
  ),
  "address of links": handled(
    "a link has the address of the request",
    FORMAT,
    "Weir uses only its token, and reports the address",
  ),
  token: handled(
    "the token of a link is `Id:` and the last Id",
    PARAMETERS,
    "Weir uses the token, and a broken page is requested again",
  ),
  order: handled(
    "the Ids of a page ascend",
    "samples of DataStream Public API",
    "rows are delivered when their page is complete",
  ),
  position: row(
    "`$skiptoken=Id:n` continues after the Id n",
    PARAMETERS,
    "results of several pages fail",
  ),
  count: row("`$count=true` answers with the number of rows", OPENAPI, "long results fail"),
  "count form": handled("a count is the number `value`", OPENAPI, "Weir reads the other form"),
  "page size": handled("`$top=10000` gets 10,000 rows", PARAMETERS, "Weir follows the links"),
  eq: operator("eq"),
  ne: operator("ne"),
  lt: operator("lt"),
  lte: operator("lte"),
  gt: operator("gt"),
  gte: operator("gte"),
  in: operator("in"),
  endswith: operator("endswith"),
  years: row(
    "results can be filtered by `ActivityStartYear`",
    ENDPOINTS,
    "--from and --to fail, and large queries cannot be split by years",
  ),
  box: row("positions are compared with quoted numbers", PARAMETERS, "--bbox and `within` fail"),
  regions: row("the known regions have locations", PARAMETERS, "--region fails"),
  "Id of datasets": handled("Metadata can be filtered by Id", "datastreamr, tests", "use the DOI"),
  version: row(
    "datasets have `Version`, and `PublishedTimestamp` in UTC",
    ENDPOINTS,
    "changes of datasets are not noticed",
  ),
  published: handled(
    "datasets were published in the past",
    COMPUTER,
    "Weir compares the versions, and does not wait for that time",
  ),
  extent: handled(
    "`TemporalExtent` has two dates, or is null",
    OPENAPI,
    "Weir does not use it to split by years",
  ),
  "2,000 bytes": row("a query string can have 2,000 bytes", FIREWALL, "long lists fail"),
  "4,000 bytes": handled(
    "a query string can have 4,000 bytes",
    COMPUTER,
    "Weir makes long lists shorter, and sends more requests",
  ),
  "8,000 bytes": handled(
    "a query string can have 8,000 bytes",
    COMPUTER,
    "Weir makes long lists shorter, and sends more requests",
  ),
  apostrophe: handled(
    "an apostrophe in a value is accepted",
    `OData; ${FIREWALL}`,
    "an error names the value; use a wider filter",
  ),
  compression: handled(
    "responses are compressed",
    "HTTP",
    "select fewer fields, because downloads are slower",
  ),
  pace: handled(
    "two requests per second are accepted",
    ERRORS,
    "Weir waits; look for other programs with the key or address",
  ),
  "unknown field": handled(
    "an unknown field is refused with 400 and a message",
    ERRORS,
    "an error has only the status, or a wrong field is empty",
  ),
  "larger page": handled("`$top=10001` is refused with 400", PARAMETERS, "Weir never asks for it"),
  "no key": handled(
    "a request without a key is refused with 401 or 403",
    ERRORS,
    "the key is sent",
  ),
} as const satisfies Record<string, Assumption>;
