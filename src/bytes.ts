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
