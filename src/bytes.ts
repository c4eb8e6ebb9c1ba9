/** Not shared, so that they can be sent and released. */
export type Bytes = Uint8Array<ArrayBuffer>;

// The types of the constants below also exist without `lib: ["dom"]`.
export const utf8Encoder: InstanceType<typeof TextEncoder> = new TextEncoder();
/** Replaces malformed bytes, keeps a byte order mark, as values can begin with one. Never use it with `stream: true`. */
export const utf8Decoder: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", {
  ignoreBOM: true,
});

/** Returns a module of Node; `undefined` in browsers, and in Workers without `nodejs_compat`. */
export function builtinModule<T>(name: string): T | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): T } };
  return process?.getBuiltinModule?.(name);
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8Encoder.encode(text))));
}
