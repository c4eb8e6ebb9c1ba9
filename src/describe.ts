/** A value as an error shows it: text in quotes, other things by their kind. */
export function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value)
    ? "a list"
    : `an ${Object.prototype.toString.call(value).slice(8, -1)}`;
}
