// What a behaviour tells of streams and of errors, so that it can stand in JSON.
import { DataStreamError, type Query } from "../../../mod.ts";

/** What a {@linkcode DataStreamError} says wherever it is thrown. */
export interface FaultReport {
  kind: string;
  status?: number | undefined;
  /** The message; of a fault of the network, which each runtime words in its own way, its hint. */
  says: string;
  /** Where the key stands, among all that can be printed of the error. */
  showsKey: string[];
}

/**
 * What comes of something that must fail.
 *
 * @param baseUrl What is left out of the message: it has another port each time
 * @param leaveOut The facts that a runtime hides
 */
export async function reportFault(
  run: () => Promise<unknown>,
  baseUrl: string,
  key: string,
  leaveOut: (keyof FaultReport)[] = [],
): Promise<FaultReport | { came: unknown }> {
  let error: unknown;
  try {
    return { came: await run() };
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof DataStreamError)) return { came: String(error) };
  const { kind, status, message, hint } = error;
  const says = kind === "network" ? hint : message.replaceAll(baseUrl, "");
  const shown = Object.entries(textsOf(error)).filter(([, text]) => text.includes(key));
  const report = { kind, status, says, showsKey: shown.map(([name]) => name) };
  for (const name of leaveOut) delete (report as Partial<FaultReport>)[name];
  return report;
}

/** All that can be printed of an error and of those behind it. */
function textsOf(error: Error): Record<string, string> {
  const texts: Record<string, string> = {};
  let depth = 0;
  for (let one: unknown = error; one instanceof Error; one = one.cause, depth++) {
    texts[`message ${depth}`] = one.message;
    texts[`stack ${depth}`] = one.stack ?? "";
    texts[`text ${depth}`] = String(one);
    texts[`JSON ${depth}`] = JSON.stringify(one);
    for (const name of Object.getOwnPropertyNames(one)) {
      texts[`${name} ${depth}`] = String(Reflect.get(one, name));
    }
  }
  return texts;
}

/** All that a stream gives. */
export async function drain<T>(stream: ReadableStream<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

/** The digests of all that a query can be written as. */
export async function digestsOf(query: Query<object>): Promise<Record<string, string>> {
  return {
    csv: await digest(query.csv()),
    csvForExcel: await digest(query.csv({ bom: true, separator: ";" })),
    ndjson: await digest(query.ndjson()),
    json: await digest(query.json()),
  };
}

/** How many bytes a stream gives, and their SHA-256. */
async function digest(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const bytes = await new Response(stream).arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${bytes.byteLength} bytes, ${hex}`;
}
