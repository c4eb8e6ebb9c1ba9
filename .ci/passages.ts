/**
 * Passages of the documents that the first release replaces.
 *
 * A passage contains the text before and the text after the first release. The comments are not shown, and
 * `deno task release` removes them:
 *
 * ```md
 * <!-- before the first release -->
 * Text before the first release.
 * <!-- after the first release:
 * Text after the first release; may be empty.
 * -->
 * ```
 */
const PASSAGE =
  /^<!-- before the first release -->\n([^]*?)^<!-- after the first release:\n([^]*?)^-->\n(\n?)/gm;

/** Replaces each passage by its text before the first release. Line numbers do not change. */
export function beforeFirstRelease(text: string): string {
  return text.replace(PASSAGE, (_all, before: string, after: string, end: string) => {
    const lines = after.split("\n").length;
    return `\n${before}\n${"\n".repeat(lines)}${end}`;
  });
}

/** Replaces each passage by its text after the first release. */
export function afterFirstRelease(text: string): string {
  return text.replace(
    PASSAGE,
    (_all, _before, after: string, end: string) => after === "" ? "" : after + end,
  );
}

/** Returns the number of lines before the first release, without comments of passages. */
export function countVisibleLines(text: string): number {
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
