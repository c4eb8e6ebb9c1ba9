// Describes streams and errors as JSON-serialisable data.
import { DataStreamError, type Query } from "../../../mod.ts";

/** Properties of a {@linkcode DataStreamError} that are equal in all runtimes. */
export interface Rejection {
  kind: string;
  status?: number | undefined;
  /** Message, or the hint of a network error, whose message depends on the runtime. */
  text: string;
  /** Names of the properties and texts of the error that contain the key. */
  showsKey: string[];
}

/**
 * Describes the error of a function that must reject, without `baseUrl` and `omitted` properties.
 */
export async function describeRejection(
  run: () => Promise<unknown>,
  baseUrl: string,
  key: string,
  omitted: (keyof Rejection)[] = [],
): Promise<Rejection | { unexpected: unknown }> {
  let error: unknown;
  try {
    return { unexpected: await run() };
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof DataStreamError)) return { unexpected: String(error) };
  const { kind, status, message, hint } = error;
  const text = kind === "network" ? hint : message.replaceAll(baseUrl, "");
  const shown = Object.entries(textsOf(error)).filter(([, text]) => text.includes(key));
  const rejection = { kind, status, text, showsKey: shown.map(([name]) => name) };
  for (const name of omitted) delete (rejection as Partial<Rejection>)[name];
  return rejection;
}

function textsOf(error: Error): Record<string, string> {
  const texts: Record<string, string> = {};
  let depth = 0;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause, depth++) {
    texts[`message ${depth}`] = cause.message;
    texts[`stack ${depth}`] = cause.stack ?? "";
    texts[`text ${depth}`] = String(cause);
    texts[`JSON ${depth}`] = JSON.stringify(cause);
    for (const name of Object.getOwnPropertyNames(cause)) {
      texts[`${name} ${depth}`] = String(Reflect.get(cause, name));
    }
  }
  return texts;
}

export async function readAll<T>(stream: ReadableStream<T>): Promise<T[]> {
  const chunks: T[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

export async function digestsOf(query: Query<object>): Promise<Record<string, string>> {
  return {
    csv: await digest(query.csv()),
    csvForExcel: await digest(query.csv({ bom: true, separator: ";" })),
    ndjson: await digest(query.ndjson()),
    json: await digest(query.json()),
  };
}

async function digest(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const bytes = await new Response(stream).arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${bytes.byteLength} bytes, ${hex}`;
}
