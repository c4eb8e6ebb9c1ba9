import { BadOption } from "./bad_option.ts";
import { FORMATS } from "./formats.ts";

/** A name may be as long as that, in characters; file systems take 255 bytes. */
const LONGEST_NAME = 60;
/** Nobody means a longer one; it would take long to read. */
const LONGEST_WANTED = 1_000;
/** Names that a system keeps for devices, whatever their extension. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * The name of a download's file: without what could lead out of a folder, hide what it is, or end
 * the header it stands in, and with the format's extension, whatever the caller's was.
 *
 * @param wanted The caller's, with an extension or without
 * @param extension The format's
 * @throws {BadOption} If nothing is left of it
 */
export function toFileName(wanted: string, extension: string): string {
  if (wanted.length > LONGEST_WANTED) {
    throw new BadOption(`Option "filename" is ${LONGEST_WANTED} characters at most, got more`);
  }
  // Everything that is not shown, or shown elsewhere: controls, marks of direction, halves of pairs.
  const shown = wanted.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").replace(/[\\/:*?"<>|]/g, "-");
  const ending = new RegExp(`\\.(${Object.keys(FORMATS).join("|")})$`, "i");
  const bare = shown.trim().replace(ending, "").replace(/^[\s.-]+/, "");
  let end = bare.length;
  // A pattern such as /[\s.]+$/ takes time quadratic in the number of dots.
  while (end > 0 && /[\s.]/.test(bare[end - 1]!)) end--;
  const name = Array.from(bare.slice(0, end)).slice(0, LONGEST_NAME).join("").trimEnd();
  if (name === "") {
    throw new BadOption(`Option "filename" must hold a name of a file, got "${wanted}"`);
  }
  return `${DEVICES.test(name) ? "_" : ""}${name}.${extension}`;
}

/**
 * A `content-disposition` header that saves a file, with its name in ASCII and as it is.
 *
 * Source: RFC 6266, section 4.3 and appendix D; RFC 8187.
 */
export function toDisposition(name: string): string {
  // Some letters are taken apart into marks that a name must not hold; a percent sign could be
  // taken for an encoded octet.
  const ascii = name.normalize("NFKD").replace(/\p{M}/gu, "")
    .replace(/[^ -~]|[\\/:*?"<>|%]/gu, "_").replace(/^\./, "_.");
  const encoded = encodeURIComponent(name)
    .replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
