// Code that reads a download. It never contains a key or token.
import { TEXT_IDENTIFIERS } from "../../src/odata/fields.ts";
import type { AccessMode } from "../http/options.ts";
import TABLE from "./code_snippets.json" with { type: "json" };

/** Header that a program must send, with the environment variable that has its API key or token. */
export const CREDENTIALS: Partial<
  Record<AccessMode, { header: string; prefix: string; variable: string }>
> = {
  caller: { header: "x-api-key", prefix: "", variable: "DATASTREAM_API_KEY" },
  token: { header: "authorization", prefix: "Bearer ", variable: "WEIR_TOKEN" },
};

interface Snippet {
  id: string;
  label: string;
  format: string;
  /** Text in URLs to replace, and its replacement. */
  escape?: string[];
  code: string[];
  codeWithHeader: string[];
}

const SNIPPETS: readonly Snippet[] = TABLE;

/** `name` is the variable or file of the rows. */
export function createCodeSnippets(
  access: AccessMode,
  urls: { csv: string; parquet: string },
  name: string,
): { id: string; label: string; code: string }[] {
  const credential = CREDENTIALS[access];
  return SNIPPETS.map(({ id, label, format, escape: [from = "", to = ""] = [], ...lines }) => {
    const url = format === "parquet" ? urls.parquet : urls.csv;
    const values: Record<string, string> = {
      ...credential,
      name,
      url: url.replaceAll(from, to),
      identifiers: JSON.stringify(TEXT_IDENTIFIERS).replaceAll(",", ", "),
    };
    const template = credential ? lines.codeWithHeader : lines.code;
    const code = template.join("\n").replace(/\{(\w+)\}/g, (_, key) => values[key]!);
    return { id, label, code };
  });
}
