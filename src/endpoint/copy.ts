import { isPlainObject } from "./value.ts";

/**
 * Copies plain objects and arrays deeply; any other value (date, stream, function) is returned
 * unchanged.
 *
 * @param value The value to copy
 * @param name Name of the parameter, used in the error message
 * @throws {TypeError} If the value refers to itself or is nested too deeply for the engine's stack
 */
export function copy<T>(value: T, name: string): T {
  try {
    return copyDeep(value);
  } catch (cause) {
    // Engines report an exhausted stack by different errors. Tracking the depth is measurably slower.
    throw new TypeError(
      `Cannot copy "${name}": it refers to itself, is too deep or cannot be read`,
      { cause },
    );
  }
}

function copyDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyDeep) as T;
  if (!isPlainObject(value)) return value;
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copied, key, copyDeep(value[key]));
  return copied as T;
}

/** Sets an own property of any name; assigning to `__proto__` would set the prototype instead. */
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
