import { Document, toLines } from "./dom.ts";

/** Formats the elements of a page with one per line, without random request ids. */
export function pageLines(html: string): string[] {
  const text = html.replace(/request id [\da-f-]{36}/g, "request id (random)");
  return new Document(text, "http://localhost/").root.children.flatMap((child) => toLines(child));
}

/** Returns the differences of two lists of lines: `-` marks removed lines, `+` added ones. */
export function differingLines(before: readonly string[], after: readonly string[]): string[] {
  // Length of the longest common subsequence of the lines from each index on.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i]![j] = before[i] === after[j]
        ? common[i + 1]![j + 1]! + 1
        : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) [i, j] = [i + 1, j + 1];
    else if (j === after.length || common[i + 1]?.[j]! >= common[i]![j + 1]!) {
      lines.push(`- ${before[i++]}`);
    } else lines.push(`+ ${after[j++]}`);
  }
  return lines;
}

/** Formats the status and the headers of a response, sorted by name. */
export function headLines({ status, headers }: Response): string[] {
  // The ETag depends on Weir's version.
  const shown: Record<string, string> = { "x-request-id": "(random)", etag: "(hash)" };
  const lines = [...headers].map(([name, value]) => `${name}: ${shown[name] ?? value}`);
  return [String(status), ...lines.sort()];
}
