// `weir mcp` in this process, with the official client of the Model Context Protocol.
import { PassThrough } from "node:stream";
import { Client, type Transport } from "@modelcontextprotocol/client";
import { createSandbox } from "../../src/sandbox/service.ts";
import { type RunOptions, type RunResult, weir } from "./run_weir.ts";

export interface McpAnswer {
  /** Bytes of the result as JSON. */
  bytes: number;
  isError: boolean;
  /** The whole text. */
  text: string;
  // deno-lint-ignore no-explicit-any -- tests read members
  data: any;
}

export interface Mcp {
  client: Client;
  call(name: string, args?: Record<string, unknown>): Promise<McpAnswer>;
  /** All lines that the server wrote. */
  written: string[];
  /** Lines of standard error. */
  errors: string[];
}

/** An API key that no other text contains. */
export const KEY = "k3y/of+a=test";

interface McpOptions extends RunOptions {
  /** Replaces responses of the service, which is a sandbox. */
  answer?: (request: Request) => Response | Promise<Response> | undefined;
  records?: number;
  hostileNames?: boolean;
}

/** The same with a service that needs `KEY`, and with an empty folder, which is removed. */
export async function withService(
  flags: readonly string[],
  use: (mcp: Mcp, folder: string) => Promise<void>,
  { answer, records = 4_000, hostileNames = false, ...options }: McpOptions = {},
): Promise<RunResult> {
  const folder = `tests/tmp/${crypto.randomUUID().slice(0, 8)}`;
  await Deno.mkdir(folder, { recursive: true });
  const sandbox = createSandbox({
    apiKey: KEY,
    hostileNames,
    records,
    requestsPerSecond: Infinity,
  });
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    return await (answer?.(request) ?? sandbox.fetch(request));
  };
  try {
    // An origin of its own, because the rate limiter remembers the state of each one.
    const environment = {
      DATASTREAM_API_KEY: KEY,
      DATASTREAM_BASE_URL: `https://${folder.slice(-8)}.example/v1/odata/v4`,
      ...options.environment,
    };
    return await withMcp([folder, ...flags], (mcp) => use(mcp, folder), {
      ...options,
      environment,
    });
  } finally {
    globalThis.fetch = fetch;
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns a transport whose messages are lines. `receive` gets the bytes of the server, and adds its lines to a list. */
export function lineTransport(
  send: (line: string) => void,
  written: string[] = [],
): { transport: Transport; receive(bytes: Uint8Array): void } {
  const decoder = new TextDecoder();
  let rest = "";
  const transport: Transport = {
    start: () => Promise.resolve(),
    send: (message) => Promise.resolve(send(`${JSON.stringify(message)}\n`)),
    close: () => Promise.resolve(transport.onclose?.()),
  };
  const receive = (bytes: Uint8Array) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    written.push(...lines);
    for (const line of lines) transport.onmessage?.(JSON.parse(line));
  };
  return { transport, receive };
}

/** Starts `weir mcp`, runs a test, and ends its standard input. */
export async function withMcp(
  flags: readonly string[],
  use: (mcp: Mcp) => Promise<void>,
  options: RunOptions = {},
): Promise<RunResult> {
  const input = new PassThrough();
  const written: string[] = [];
  const errors: string[] = [];
  const { transport, receive } = lineTransport((line) => void input.write(line), written);
  const running = weir(["mcp", ...flags], {
    ...options,
    input,
    onError: (line) => errors.push(line),
    write: (bytes) => Promise.resolve(receive(bytes)),
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: args });
    const [{ text = "" } = {}] = result.content as { text?: string }[];
    const bytes = new TextEncoder().encode(JSON.stringify(result)).length;
    const data = JSON.parse(text.slice(text.indexOf("\n") + 1));
    return { bytes, isError: result.isError === true, text, data };
  };
  try {
    await use({ client, call, written, errors });
  } finally {
    await client.close();
    input.end();
  }
  return await running;
}
