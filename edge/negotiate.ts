import { accepts } from "@std/http/negotiation";
import type { LocationsQuery, Query } from "../src/client/query.ts";
import { type FormatName, FORMATS, formatsOf } from "../src/formats/formats.ts";
import type { ResourceName } from "../src/odata/resources.ts";
import { didYouMean } from "../src/validation.ts";
import { HttpProblem } from "./problem.ts";
import { BadOption } from "./search_params.ts";

/** A query of any of the four resources. */
export type AnyQuery = Query<object> & Partial<Pick<LocationsQuery<object>, "geojson">>;

/** A stream of bytes, a chunk a page. */
export type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Names of formats that are here an option of another one. */
const FORMAT_HINTS = new Map([
  ["jsonl", "use ndjson"],
  ["excel", "use csv with bom=true"],
  ["xlsx", "use csv with bom=true"],
  ["tsv", "use csv with separator=tab"],
]);

/**
 * The format that a request asks for where its path has no extension: by `$format`, a name or a
 * media type, else by `accept`.
 *
 * Source: OData 4.01 Part 1, 11.2.12; RFC 9110, section 12.5.1.
 *
 * @throws {BadOption} If the resource has no such format
 * @throws {HttpProblem} 406 if none that it has is accepted
 */
export function negotiate(
  request: Request,
  resource: ResourceName,
  given: string | undefined,
): FormatName {
  const names = formatsOf(resource);
  if (given !== undefined) {
    // A plus sign that is not encoded is a space by now.
    const wanted = given.toLowerCase().split(";")[0]!.trim().replace(" ", "+");
    const found = names.find((name) => name === wanted || FORMATS[name].mediaType === wanted);
    if (found !== undefined) return found;
    const hint = FORMAT_HINTS.get(given.toLowerCase()) ?? didYouMean(given, names);
    throw new BadOption(`${resource} has no format "${given}": ${hint}`);
  }
  const headers = new Headers(request.headers);
  headers.set("accept", toBareTypes(headers.get("accept") ?? "*/*"));
  const accepted = accepts({ headers }, ...names.map((name) => FORMATS[name].mediaType));
  const found = names.find((name) => FORMATS[name].mediaType === accepted);
  if (found !== undefined) return found;
  throw new HttpProblem({
    status: 406,
    title: "No such format",
    detail: `Wanted one of ${
      names.map((name) => FORMATS[name].mediaType).join(", ")
    } to be accepted`,
    hint: `send another accept header, or ask for /${resource}.csv`,
  }, { vary: "accept" });
}

/** Types without their parameters, but for how much they are wanted; and JSON by its other names. */
function toBareTypes(accept: string): string {
  return accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const bare = type.toLowerCase() === "application/vnd.api+json" ? FORMATS.json.mediaType : type;
    return [bare, ...parameters.filter((parameter) => /^q=/i.test(parameter))].join(";");
  }).join(", ");
}
