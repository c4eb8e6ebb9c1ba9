/**
 * Passages of the documents that the first release replaces.
 *
 * A passage has both forms. The comments are not shown, and `deno task release` removes them:
 *
 * ```md
 * <!-- before the first release -->
 * Shown until then.
 * <!-- after the first release:
 * Shown from then on; may be empty.
 * -->
 * ```
 */
const PASSAGE =
  /^<!-- before the first release -->\n([^]*?)^<!-- after the first release:\n([^]*?)^-->\n(\n?)/gm;

/** Returns a text as readers see it before the first release. Each line keeps its number. */
export function beforeFirstRelease(text: string): string {
  return text.replace(PASSAGE, (_all, before: string, after: string, end: string) => {
    const lines = after.split("\n").length;
    return `\n${before}\n${"\n".repeat(lines)}${end}`;
  });
}

/** Returns a text with the passages that the first release brings. */
export function afterFirstRelease(text: string): string {
  return text.replace(
    PASSAGE,
    (_all, _before, after: string, end: string) => after === "" ? "" : after + end,
  );
}

/** Returns the number of lines that readers see before the first release. */
export function visibleLines(text: string): number {
  return text.replace(PASSAGE, "$1$3").trimEnd().split("\n").length;
}

/** Returns a message for each marker that is not part of a complete passage. */
export function passageProblems(file: string, text: string): string[] {
  return beforeFirstRelease(text).split("\n").flatMap((line, index) =>
    /^\s*<!-- (?:before|after) the first release/.test(line)
      ? `${file}:${index + 1}: write the passage in the form that .ci/passages.ts describes`
      : []
  );
}
