/**
 * Reads a body: whole, or as far as it is wanted; what is not read is cancelled.
 *
 * @param response The answer
 * @param signal Stops the reading, for not every body hears the signal of its request; the bytes so
 *   far are what comes back then
 * @param onBytes Told of each piece that comes
 * @param most So many bytes are wanted at least, where there are as many
 */
export async function readBody(
  response: Response,
  signal: AbortSignal,
  onBytes: () => void,
  most = Infinity,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  const stop = () => void reader?.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    while (reader && length < most) {
      const { done, value } = await reader.read();
      if (done) break;
      onBytes();
      chunks.push(value);
      length += value.length;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    if (most !== Infinity) stop();
  }
  return join(chunks, length);
}

function join(chunks: Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}
