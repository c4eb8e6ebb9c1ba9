import { accepts } from "@std/http/negotiation";
import { ValidationError } from "../../src/errors.ts";
import {
  type FileFormat,
  FORMAT_NAMES,
  FORMATS,
  formatsOf,
  unknownFormat,
} from "../../src/formats/formats.ts";
import { clausesOf } from "../../src/odata/query_options.ts";
import type { ResourceName } from "../../src/odata/resources.ts";
import { SERVICE_MEDIA_TYPE } from "../../src/service_constants.ts";
import { invalidValue } from "../../src/validation.ts";
import type { AccessControl } from "../http/access.ts";
import type { DownloadParameters } from "../http/parameters.ts";
import { HttpProblem } from "../http/problem.ts";

export function downloadHeaders(
  url: URL,
  resource: ResourceName,
  format: FileFormat,
  { query: { filter }, count, fileName }: DownloadParameters & { fileName: string },
  isNegotiated: boolean,
  { vary, parameters }: AccessControl,
): Record<string, string> {
  const varies = [...(isNegotiated ? ["accept"] : []), ...(vary ? [vary] : [])];
  // A signature is valid for one path.
  const isDescribed = !count && parameters.length === 0;
  const links = [citeAs(filter), isDescribed ? describedBy(url, resource, format) : undefined];
  const link = links.filter(Boolean).join(", ");
  const { mediaType, isBinary } = FORMATS[format];
  const charset = isBinary && !count ? "" : "; charset=utf-8";
  return {
    "content-type": `${count ? "application/json" : mediaType}${charset}`,
    ...(!count && {
      "content-disposition": contentDisposition(fileName),
      // Tells clients such as curl that they cannot continue a file by a range of bytes.
      "accept-ranges": "none",
    }),
    ...(varies.length > 0 && { vary: varies.join(", ") }),
    ...(link && { link }),
  };
}

/** Characters; file systems limit a name to 255 bytes. */
export const MAX_NAME_LENGTH = 60;
/** Characters. */
const MAX_PARAMETER_LENGTH = 1_000;
const EXTENSION = new RegExp(`\\.(${FORMAT_NAMES.join("|")})$`, "i");
/** Windows reserves these names for devices. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Removes or replaces characters that could change the folder, hide the type or end the header. */
export function toFileName(wanted: string, extension: string, isSynthetic: boolean): string {
  if (wanted.length > MAX_PARAMETER_LENGTH) {
    const problem = `must have at most ${MAX_PARAMETER_LENGTH} characters, got ${wanted.length}`;
    throw new ValidationError("filename", problem);
  }
  // Removes invisible characters: controls, direction marks and unpaired surrogates.
  const visible = wanted.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").replace(/[\\/:*?"<>|]/g, "-");
  const bare = visible.trim().replace(EXTENSION, "").replace(/^[\s.-]+/, "");
  let end = bare.length;
  // A pattern such as /[\s.]+$/ would take quadratic time for many dots.
  while (end > 0 && /[\s.]/.test(bare[end - 1]!)) end--;
  const name = Array.from(bare.slice(0, end)).slice(0, MAX_NAME_LENGTH).join("").trimEnd();
  if (name === "") throw invalidValue("filename", "a file name", wanted);
  const prefix = (isSynthetic ? "synthetic-" : "") + (DEVICE_NAME.test(name) ? "_" : "");
  return `${prefix}${name}.${extension}`;
}

/** RFC 6266, section 4.3 and appendix D; RFC 8187. */
export function contentDisposition(name: string): string {
  // Decomposes accented letters. A percent sign could be read as an encoded octet.
  const ascii = name.normalize("NFKD").replace(/\p{M}/gu, "")
    .replace(/[^ -~]|[\\/:*?"<>|%]/gu, "_").replace(/^\./, "_.");
  const encoded = encodeURIComponent(name)
    .replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

export const PACKAGE_MEDIA_TYPE = "application/vnd.datapackage+json";
/** Characters. Many clients limit the headers of a response to 16 kB. */
const MAX_LINK_LENGTH = 6_000;

/** Link to the data package (RFC 8288; POWDER, 4.1.4), relative to the path of the download. */
function describedBy(
  { search }: URL,
  resource: ResourceName,
  format: FileFormat,
): string | undefined {
  const parameters = search.slice(1).split("&").filter((text) =>
    text && !/^(\$|%24)format=/i.test(text)
  );
  if (format !== FORMAT_NAMES[0]) parameters.push(`$format=${format}`);
  const target = `${resource}.datapackage.json${parameters.length > 0 ? "?" : ""}${
    parameters.join("&")
  }`;
  if (target.length > MAX_LINK_LENGTH) return undefined;
  return `<${target}>; rel="describedby"; type="${PACKAGE_MEDIA_TYPE}"`;
}

/** DOI of the dataset, if the filter names exactly one (RFC 8574). */
export function citeAs(filter: string | undefined): string | undefined {
  const dois = clausesOf(filter)
    .filter(({ field, operator }) => field === "DOI" && (operator === "eq" || operator === "in"))
    .flatMap(({ values }) => values.map(({ text }) => text));
  const [doi = ""] = dois;
  if (new Set(dois).size !== 1 || !/^10\.\d{4,9}\/\S+$/.test(doi)) return undefined;
  const path = doi.split("/").map(encodeURIComponent).join("/");
  return `<https://doi.org/${path}>; rel="cite-as"`;
}

/** `$format`, else the `accept` header (OData 4.01 Part 1, 11.2.12; RFC 9110, 12.5.1). */
export function negotiateFormat(
  request: Request,
  resource: ResourceName,
  given: string | undefined,
): FileFormat {
  const names = formatsOf(resource);
  if (given !== undefined) {
    // A plus sign that is not percent-encoded is decoded as a space.
    const wanted = given.toLowerCase().split(";")[0]!.trim().replace(" ", "+");
    const found = names.find((name) => name === wanted || FORMATS[name].mediaType === wanted);
    if (found !== undefined) return found;
    throw unknownFormat(resource, given);
  }
  const headers = new Headers(request.headers);
  headers.set("accept", normalizeAccept(headers.get("accept") ?? "*/*"));
  const mediaTypes = names.map((name) => FORMATS[name].mediaType);
  const accepted = accepts({ headers }, ...mediaTypes);
  const found = names.find((name) => FORMATS[name].mediaType === accepted);
  if (found !== undefined) return found;
  throw new HttpProblem({
    status: 406,
    title: "No acceptable format",
    detail: `The accept header excludes all formats of ${resource}: ${mediaTypes.join(", ")}`,
    hint: `send another accept header, or request /${resource}.${names[0]}`,
  });
}

/** Removes all parameters except `q`, because `accepts()` would not match them. */
function normalizeAccept(accept: string): string {
  return accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const name = type.toLowerCase() === SERVICE_MEDIA_TYPE ? FORMATS.json.mediaType : type;
    return [name, ...parameters.filter((parameter) => /^q=/i.test(parameter))].join(";");
  }).join(", ");
}
