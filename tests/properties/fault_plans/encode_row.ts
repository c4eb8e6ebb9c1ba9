import type { Plan } from "./plan.ts";
import { fieldsOf } from "./read_output.ts";
import type { WireRow } from "./reference_rows.ts";

/** Field that one of the faults adds to rows. */
const NEW_FIELD = "WellDepth";
/** Text that one of the faults adds to values: the number of the version. The fault can occur several times. */
const VERSION = /(?: ~\d+)+$/;
/** Separator, which no value contains. */
const SEPARATOR = "\u001f";

export interface RowEncoder {
  /** Encodes the selected fields of a row that the service sent. */
  sent(row: WireRow): string;
  /** Encodes a row of the output; fields that were not selected change the text. */
  delivered(row: WireRow | string[]): string;
}

/** Creates the encoder for a plan; a row of CSV is a list of cells. */
export function rowEncoder(plan: Plan): RowEncoder {
  const fields = fieldsOf(plan);
  const known = new Set([...fields, NEW_FIELD]);
  const isCsv = plan.output.endsWith("csv");
  const sent = (row: WireRow) =>
    fields.map((name) => {
      // One fault sends Ids as strings of digits.
      const value = name === "Id" && /^\d+$/.test(String(row[name]))
        ? Number(row[name])
        : row[name];
      const text = typeof value === "string" ? value.replace(VERSION, "") : value;
      return isCsv ? toCell(text) : text === undefined ? "absent" : JSON.stringify(text);
    }).join(SEPARATOR);
  return {
    sent,
    delivered: (row) => {
      const versions = new Set(Object.values(row).map((value) => VERSION.exec(String(value))?.[0]));
      versions.delete(undefined);
      const mixed = versions.size > 1 ? ["values of several responses"] : [];
      if (Array.isArray(row)) {
        const cells = row.slice(0, fields.length).map((cell) => cell.replace(VERSION, ""));
        return [...cells, ...mixed].join(SEPARATOR);
      }
      const more = Object.keys(row).filter((name) => !known.has(name));
      return [sent(row), ...more.map((name) => `not selected: ${name}`), ...mixed].join(SEPARATOR);
    },
  };
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join("; ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
