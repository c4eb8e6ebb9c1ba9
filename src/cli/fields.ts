import { FILTER_FIELDS, RESOURCES } from "../odata/resources.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { readResource } from "./query_flags.ts";

/** What a field holds, for people. */
const TYPES: Record<string, string> = {
  "integer": "whole number",
  "number": "number",
  "number?": "number or null",
  "text": "text",
  "text?": "text or null",
  "texts": "list of texts",
  "dates?": "first and last date, or null",
  "degrees": "degrees, in quotes",
  "date": "date, 'YYYY-MM-DD'",
};

/** Prints what a resource can select, and be filtered by. */
export async function fields({ operand }: Arguments, io: Io): Promise<void> {
  const resource = readResource(operand);
  const { fields, filters } = RESOURCES[resource];
  const width = Math.max(...[...Object.keys(fields), ...filters].map((name) => name.length)) + 2;
  const line = (name: string, type: string) => `  ${name.padEnd(width)}${TYPES[type]}\n`;
  await io.print(
    `${resource} can select\n` +
      Object.entries(fields).map(([name, type]) => line(name, type)).join("") +
      `and be filtered by\n` +
      filters.map((name) => line(name, FILTER_FIELDS[name])).join(""),
  );
}
