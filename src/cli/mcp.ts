// `weir mcp`: a server of the Model Context Protocol, whose standard output has only messages of the protocol.
import { realpath } from "node:fs/promises";
import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { abortable } from "../clock.ts";
import { requireDirectory } from "../files/output.ts";
import { describe, suggestBySpelling } from "../validation.ts";
import { VERSION } from "../version.ts";
import { MissingKey, readKey } from "./api_key.ts";
import { type Arguments, checkValue, type Flag, type Flags, LIST_HELP } from "./arguments.ts";
import { type Context, UsageError } from "./context.ts";
import { type FlagValues, messageOf, readBaseUrl, SERVICE_FLAGS } from "./flags.ts";
import { type ToolResult, toResult } from "./mcp_answer.ts";
import { createTools, type Tool } from "./mcp_tools.ts";
import { countText } from "./progress_report.ts";
import { readLists } from "./value_lists.ts";
import type { Progress } from "../client/query.ts";

const INSTRUCTIONS = `Weir reads Canada's open water-quality data from DataStream.
1. find_values: filters need exact names, such as "Total Phosphorus, mixed forms".
2. summary: which units, years and non-detects there are. Do not mix units, forms or fractions.
3. preview: a few rows. censoring "left" is a non-detect: the true value is below "upper", neither 0 nor absent.
4. download: all rows, as a file to compute with. Do not compute from a preview.
Filters are the same in all tools; find_locations describes them.
Name the citations of the data in your answer. "unmatched" has names without rows, and near names.`;

export async function serveMcp(
  { operand, flags }: Arguments,
  context: Context,
): Promise<number> {
  await requireDirectory(`${operand}/.`);
  const folder = await realpath(operand!);
  readBaseUrl(flags, context); // throws now if two services are selected
  const service = new Map([...flags].filter(([name]) => Object.hasOwn(SERVICE_FLAGS, name)));
  const problem = await findKeyProblem(service, context);
  context.printError(`weir mcp: serving until standard input ends, with files in ${folder}`);
  if (problem) context.printError(problem);
  const tools = createTools(flags.has("force"));
  const list = describeTools(tools);
  const note = isSandbox(service) ? "This data is synthetic: it was never measured." : problem;
  const instructions = note === undefined ? INSTRUCTIONS : `${INSTRUCTIONS}\n${note}`;
  const { ProtocolError, ProtocolErrorCode, Server, serveStdio, StdioServerTransport } =
    await import("./mcp_library.ts");
  const input = context.input();
  const output = new Writable({
    write: (bytes, _, done) => void context.write(bytes).then(() => done(), done),
  });
  const connection = serveStdio(() => {
    const info = { name: "weir", version: VERSION };
    const server = new Server(info, { capabilities: { tools: {} }, instructions });
    server.setRequestHandler("tools/list", () => ({ tools: list }));
    server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
      const { name, arguments: given = {}, _meta } = params;
      if (!Object.hasOwn(tools, name)) {
        const hint = suggestBySpelling(name, Object.keys(tools));
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${hint}`);
      }
      const token = _meta?.progressToken;
      const notify = (progress: number, total: number | undefined, message: string) => {
        if (token === undefined) return;
        const params = { progressToken: token, progress, total, message };
        mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
      };
      const signal = AbortSignal.any([context.signal, mcpReq.signal]);
      return callTool(tools[name]!, given, service, folder, { ...context, signal }, notify);
    });
    return server;
  }, { transport: new StdioServerTransport(input, output) });
  try {
    await abortable(finished(input, { writable: false }), context.signal);
    return 0;
  } finally {
    await connection.close();
  }
}

/** Returns why the service cannot be used yet; `undefined` with a key, and in the sandbox, which needs none. */
async function findKeyProblem(service: FlagValues, context: Context): Promise<string | undefined> {
  if (isSandbox(service)) return undefined;
  try {
    await readKey(context);
    return undefined;
  } catch (error) {
    if (!(error instanceof MissingKey)) throw error;
    return `${error.message}: weir mcp DIR --sandbox`;
  }
}

const isSandbox = (flags: FlagValues) => flags.has("sandbox") || flags.has("sandbox-firewall");

/** Names of arguments are those of flags, with underscores. */
const argumentOf = (flag: string) => flag.replaceAll("-", "_");

/** An argument is described in the first tool that has it, because the list of tools should be short. */
function describeTools(tools: Readonly<Record<string, Tool>>) {
  const described = new Set<Flag>();
  const toProperty = (flag: Flag) => {
    const { value, help, isList, choices } = flag;
    const type = value === undefined ? "boolean" : value === "N" ? "integer" : "string";
    const form = value && /[,=]/.test(value) ? `${value}: ` : "";
    const isNew = !described.has(flag);
    described.add(flag);
    return {
      ...isList ? { type: "array", items: { type } } : { type },
      ...choices && { enum: [...choices] },
      ...isNew && { description: form + help.replace(LIST_HELP, "") },
    };
  };
  return Object.entries(tools).map(([name, tool]) => ({
    name,
    description: tool.description,
    inputSchema: {
      type: "object" as const,
      properties: Object.fromEntries(
        Object.entries(tool.flags).map(([name, flag]) => [argumentOf(name), toProperty(flag)]),
      ),
      ...tool.required && { required: [...tool.required] },
    },
    annotations: { readOnlyHint: !tool.writesFiles },
  }));
}

async function callTool(
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  service: FlagValues,
  folder: string,
  context: Context,
  notify: (rows: number, total: number | undefined, message: string) => void,
): Promise<ToolResult> {
  const messages: string[] = [];
  let pages = 0;
  const quietContext: Context = {
    ...context,
    // Standard output belongs to the protocol.
    write: () => Promise.reject(new Error("A tool must not write to standard output")),
    print: () => Promise.reject(new Error("A tool must not write to standard output")),
    printError: (line) => void messages.push(line),
    terminal: undefined,
    confirm: () => Promise.resolve(false),
    onProgress({ pages: received, rows, expectedRows }: Progress) {
      if (received <= pages) return;
      pages = received;
      notify(rows, expectedRows, countText(rows));
    },
  };
  const key = isSandbox(service) ? undefined : await readKey(context).catch(() => undefined);
  const toMessages = () => {
    const texts = messages.map((line) => nameArguments(line, tool.flags));
    return texts.length > 0 ? { messages: texts } : {};
  };
  try {
    const flags = await readArguments(given, tool, key, quietContext);
    const answer = await tool.run({
      flags: new Map([...flags, ...service, ["quiet", [""]]]),
      context: quietContext,
      folder,
    });
    return toResult({ ...answer, ...toMessages() }, key);
  } catch (error) {
    const text = nameArguments(messageOf(error), tool.flags);
    return toResult({ error: text, ...toMessages() }, key, true);
  }
}

/** Names arguments as the tool does: `limit` instead of `--limit`. */
function nameArguments(text: string, flags: Flags): string {
  return text.replace(
    /--([a-z]+(?:-[a-z]+)*)/g,
    (flag, name) => Object.hasOwn(flags, name) ? argumentOf(name) : flag,
  );
}

/** @throws {UsageError} If an argument is unknown, missing, or has a wrong value */
async function readArguments(
  given: Readonly<Record<string, unknown>>,
  { flags: known, required = [] }: Tool,
  key: string | undefined,
  context: Context,
): Promise<FlagValues> {
  if (key !== undefined && JSON.stringify(given).includes(JSON.stringify(key).slice(1, -1))) {
    throw new UsageError(
      "An argument has the API key: remove it, because weir reads the key itself",
    );
  }
  const flags = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(given)) {
    const flag = name.replaceAll("_", "-");
    if (!Object.hasOwn(known, flag)) {
      const hint = suggestBySpelling(name, Object.keys(known).map(argumentOf));
      throw new UsageError(`Unknown argument "${name}": ${hint}`);
    }
    const texts = readValue(flag, known[flag]!, value);
    if (texts.length > 0) flags.set(flag, texts);
  }
  const missing = required.find((name) => !flags.has(name));
  if (missing !== undefined) throw new UsageError(`--${missing} is missing`);
  const read = () => {
    throw new UsageError("A value that begins with @ names a file: pass the values themselves");
  };
  return (await readLists({ command: undefined, operand: undefined, flags }, context, read)).flags;
}

/** Returns the texts of a value in JSON; none if it is not given. A list for one value is joined: `[-64, 45, -62, 47]`. */
function readValue(name: string, flag: Flag, value: unknown): readonly string[] {
  if (value === null || value === undefined || value === false) return [];
  if (flag.value === undefined) {
    if (value === true) return [""];
    throw new UsageError(`--${name} must be true or false, got ${describe(value)}`);
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isRight = values.every((one) => typeof one === "string" || typeof one === "number");
  if (!isRight || typeof value === "boolean") {
    throw new UsageError(`--${name} must be text, got ${describe(value)}`);
  }
  const texts = flag.isList ? values.map(String) : [values.join()];
  for (const text of texts) checkValue(name, flag, text, false);
  return texts;
}
