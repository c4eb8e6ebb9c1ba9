/** Encoder and decoder of UTF-8. Neither keeps state between calls, so all modules share them. */
export const utf8Encoder = new TextEncoder();
/** Replaces malformed bytes, and removes a byte order mark. Must not be called with `stream: true`. */
export const utf8Decoder = new TextDecoder();
