/** Id of a row: an integer, or text such as the UUIDs of Metadata. */
export type RowId = number | string;

/** Name of the field that identifies a row. */
export const ID_FIELD = "Id";

/** Number of digits up to which every integer is a safe integer. */
export const MAX_SAFE_DIGITS = 15;

const INTEGER_TEXT = new RegExp(`^\\d{1,${MAX_SAFE_DIGITS}}$`);

/**
 * Converts the value of `Id`: a safe integer, also as text, to a number; other text is kept.
 *
 * @returns The Id; `undefined` for any other value
 */
export function toRowId(value: unknown): RowId | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "string" || value === "") return undefined;
  return INTEGER_TEXT.test(value) ? Number(value) : value;
}

/** Returns the Ids if every row has one, otherwise `undefined`. */
export function completeIds(ids: readonly (RowId | undefined)[]): readonly RowId[] | undefined {
  return ids.every((id) => id !== undefined) ? ids : undefined;
}
