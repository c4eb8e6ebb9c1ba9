/** Bytes whose buffer is not shared, so that it can be sent and released. */
export type Bytes = Uint8Array<ArrayBuffer>;

// The types of the constants below also exist without `lib: ["dom"]`.
/** Encodes text as UTF-8. It keeps no state between calls, so all modules can share it. */
export const utf8Encoder: InstanceType<typeof TextEncoder> = new TextEncoder();
/**
 * Decodes UTF-8: replaces malformed bytes, and removes a byte order mark. It keeps no state between
 * calls, because it is never called with `stream: true`.
 */
export const utf8Decoder: InstanceType<typeof TextDecoder> = new TextDecoder();

/** Returns bytes as hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the SHA-256 of a text as hexadecimal digits. */
export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8Encoder.encode(text))));
}
