import { isPlainObject } from "./value.ts";

/** Copies plain objects and arrays deeply; everything else (dates, streams, functions) as it is. */
export function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copy(item)])) as T;
}
