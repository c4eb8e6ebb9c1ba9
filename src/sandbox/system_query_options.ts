import { FilterSyntaxError, parseFilter } from "../odata/parse_filter.ts";
import { MAXIMUM_TOP } from "../odata/query_options.ts";
import { fieldNames, type ResourceName } from "../odata/resources.ts";
import { parseSelect } from "../odata/selection.ts";
import { BadRequest } from "./bad_request.ts";
import { type Condition, toConditions } from "./condition.ts";

/** The rows on a page where a request does not say. */
const DEFAULT_TOP = 10;

/** What a request asks for, read from its query string and checked. */
export interface SandboxQuery {
  select: string[];
  conditions: Condition[];
  top: number;
  /** The id after which the page begins; null is the start. */
  after: string | null;
  count: boolean;
  /** `$select` and `$filter` as they came, for the next link. */
  carried: [name: string, value: string][];
}

/**
 * Reads the system query options of a request, as strict as the service.
 *
 * @param resource The resource that is asked
 * @param query The query string, without its question mark
 * @throws {BadRequest} If an option, a field or an expression is none of the service's
 * @throws {URIError} If a percent sign is not followed by two hexadecimal digits
 */
export function readQuery(resource: ResourceName, query: string): SandboxQuery {
  const options = new Map<string, string>();
  for (const pair of query.split("&").filter((pair) => pair !== "")) {
    const equals = pair.indexOf("=");
    const name = decodeURIComponent(equals < 0 ? pair : pair.slice(0, equals));
    if (!["$select", "$filter", "$top", "$skiptoken", "$count"].includes(name)) {
      throw new BadRequest(`Unknown query option '${name}'`);
    }
    if (options.has(name)) throw new BadRequest(`Query option '${name}' is given twice`);
    options.set(name, equals < 0 ? "" : decodeURIComponent(pair.slice(equals + 1)));
  }
  return {
    select: readSelect(resource, options.get("$select")),
    conditions: readFilter(resource, options.get("$filter")),
    top: readTop(options.get("$top")),
    after: readSkipToken(resource, options.get("$skiptoken")),
    count: readCount(options.get("$count")),
    carried: [...options].filter(([name]) => name === "$select" || name === "$filter"),
  };
}

function readSelect(resource: ResourceName, text?: string): string[] {
  const known: string[] = fieldNames(resource);
  if (text === undefined) return known;
  const names = [...new Set(parseSelect(text))];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new BadRequest(`${resource} has no field '${unknown}'`);
  return names;
}

function readFilter(resource: ResourceName, text?: string): Condition[] {
  if (text === undefined) return [];
  try {
    return toConditions(resource, parseFilter(text));
  } catch (error) {
    if (error instanceof FilterSyntaxError) throw new BadRequest(error.message);
    throw error;
  }
}

function readTop(text = String(DEFAULT_TOP)): number {
  const top = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(top >= 1 && top <= MAXIMUM_TOP)) {
    throw new BadRequest(`$top is a whole number from 1 to ${MAXIMUM_TOP}, got '${text}'`);
  }
  return top;
}

function readSkipToken(resource: ResourceName, text?: string): string | null {
  if (text === undefined) return null;
  const id = resource === "Metadata"
    ? /^Id:([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/
    : /^Id:(\d+)$/;
  const match = id.exec(text);
  if (!match) throw new BadRequest(`$skiptoken is 'Id:' and the last id, got '${text}'`);
  return match[1]!;
}

function readCount(text = "false"): boolean {
  if (text !== "true" && text !== "false") {
    throw new BadRequest(`$count is true or false, got '${text}'`);
  }
  return text === "true";
}
