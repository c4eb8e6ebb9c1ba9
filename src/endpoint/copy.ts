import { isPlainObject } from "./value.ts";

/** Copies plain objects and arrays deeply; everything else (dates, streams, functions) as it is. */
export function copy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isPlainObject(value)) return value;
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copied, key, copy(value[key]));
  return copied as T;
}

/** Sets a property whatever its name: assigned, `__proto__` would change the prototype and be gone. */
export function setOwn<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== "__proto__") {
    target[name] = value;
    return;
  }
  Object.defineProperty(target, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}
