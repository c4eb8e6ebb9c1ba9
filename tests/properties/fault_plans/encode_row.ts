import type { Plan } from "./plan.ts";
import { fieldsOf } from "./read_output.ts";
import type { WireRow } from "./truth.ts";

/** Field that one of the faults adds to rows. */
const NEW_FIELD = "WellDepth";
/** Mark that no value holds. */
const SEPARATOR = "\u001f";

/** Turns rows into texts that are equal where the rows are. */
export interface RowEncoder {
  /** Text of a row as the service sends it: of its selected fields alone. */
  sent(row: WireRow): string;
  /** Text of a row as the plan's output gives it; a field that was not selected changes it. */
  delivered(row: WireRow | string[]): string;
}

/** Makes the encoder of a plan's rows; a row of CSV is a list of cells. */
export function rowEncoder(plan: Plan): RowEncoder {
  const fields = fieldsOf(plan);
  const known = new Set([...fields, NEW_FIELD]);
  const isCsv = plan.output.endsWith("csv");
  const sent = (row: WireRow) =>
    fields.map((name) => {
      // One fault sends Ids as digits in a text.
      const value = name === "Id" && /^\d+$/.test(String(row[name]))
        ? Number(row[name])
        : row[name];
      return isCsv ? toCell(value) : value === undefined ? "absent" : JSON.stringify(value);
    }).join(SEPARATOR);
  return {
    sent,
    delivered: (row) => {
      if (Array.isArray(row)) {
        return row.slice(0, fields.length).join(SEPARATOR);
      }
      const more = Object.keys(row).filter((name) => !known.has(name));
      return [sent(row), ...more.map((name) => `not selected: ${name}`)].join(
        SEPARATOR,
      );
    },
  };
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join("; ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
