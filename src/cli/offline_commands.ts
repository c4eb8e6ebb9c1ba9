import { DataStream } from "../client/datastream.ts";
import { FILTER_FIELDS, RESOURCES } from "../odata/resources.ts";
import { signUrl } from "../signing/signed_url.ts";
import type { Arguments } from "./arguments.ts";
import { type Context, UsageError } from "./context.ts";
import {
  DEFAULT_EXPIRES,
  EXPIRES_FORM,
  hasDays,
  readBaseUrl,
  readDuration,
  readQuery,
  RESOURCE_COMMANDS,
} from "./flags.ts";

export async function printFields({ operand }: Arguments, context: Context): Promise<void> {
  const resource = RESOURCE_COMMANDS[operand!]!;
  const { fields, filters } = RESOURCES[resource];
  const width = Math.max(...[...Object.keys(fields), ...filters].map((name) => name.length)) + 2;
  const line = (name: string, type: string) => `  ${name.padEnd(width)}${TYPE_LABELS[type]}\n`;
  await context.print(
    `Fields of ${resource} for --select:\n` +
      Object.entries(fields).map(([name, type]) => line(name, type)).join("") +
      "Fields for --filter:\n" +
      filters.map((name) => line(name, FILTER_FIELDS[name])).join(""),
  );
}

const TYPE_LABELS: Record<string, string> = {
  "integer": "whole number",
  "number": "number",
  "number?": "number or null",
  "text": "text",
  "text?": "text or null",
  "texts": "list of texts",
  "dates?": "first and last date, or null",
  "degrees": "degrees, written as '45.9'",
  "date": "date, written as '2015-01-31'",
};

export async function printUrl({ operand, flags }: Arguments, context: Context): Promise<void> {
  const client = new DataStream({ baseUrl: readBaseUrl(flags, context) });
  const { url } = client.query(RESOURCE_COMMANDS[operand!]!, readQuery(flags));
  await context.print(`${url}\n`);
  if (hasDays(flags)) {
    context.printError("The URL selects whole years, because DataStream cannot select days");
  }
}

export async function printSignedUrl(
  { operand, flags }: Arguments,
  context: Context,
): Promise<void> {
  const secret = context.environment("WEIR_SIGNING_SECRET")?.trim();
  if (!secret) {
    const permission = context.permissionHint("WEIR_SIGNING_SECRET");
    throw new UsageError(
      `No secret: set WEIR_SIGNING_SECRET to the server's secret${permission}`,
    );
  }
  const expires = readExpires(flags.get("expires")?.[0] ?? DEFAULT_EXPIRES, Date.now());
  await context.print(`${await signUrl(operand ?? "", { secret, expires })}\n`);
}

/** `now` is in ms, the result in s, both since 1970. */
function readExpires(text: string, now: number): number {
  const duration = readDuration(text);
  const seconds = duration !== undefined
    ? (now + duration) / 1000
    : /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text) / 1000
    : NaN;
  if (Number.isNaN(seconds)) {
    throw new UsageError(
      `--expires must be a ${EXPIRES_FORM}, got "${text}"`,
    );
  }
  if (seconds * 1000 <= now) throw new UsageError(`--expires must be in the future, got "${text}"`);
  return Math.floor(seconds);
}
