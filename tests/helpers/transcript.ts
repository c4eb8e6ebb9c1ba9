// Runs command lines against a small service in this process and records their output and requests.
import { createHash } from "node:crypto";
import { createSandbox } from "../../src/sandbox/service.ts";
import { type RunOptions, type RunResult, weir } from "./run_weir.ts";

/** Maximum number of requests of one command line, because an endless loop would block timers. */
const MAX_REQUESTS = 100;

/** A command line and its environment. */
export interface Scenario extends RunOptions {
  line: readonly string[];
  /** Folder of the scenario's files; its path, which differs in each run, is omitted. */
  folder?: string;
  /** Replaces the responses of the service. */
  answer?: (request: Request) => Response;
}

/** The result of a scenario. */
export interface Recorded extends RunResult {
  /** Decoded URLs of the requests, without the root address of the service. */
  requests: string[];
}

/** Root address of the service that scenarios use unless a flag names another one. */
const ROOT = "https://service.example/v1/odata/v4";

/** Runs a command line against a service with 40 records at 8 locations, with hostile names. */
export async function record({ line, folder, answer, ...given }: Scenario): Promise<Recorded> {
  const sandbox = createSandbox({
    records: 40,
    locations: 8,
    hostileNames: true,
    requestsPerSecond: Infinity,
  });
  const requests: string[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (requests.length === MAX_REQUESTS) throw new Error(`More than ${MAX_REQUESTS} requests`);
    requests.push(decodeURIComponent(request.url).replace(`${ROOT}/`, ""));
    return answer?.(request) ?? await sandbox.fetch(request);
  };
  try {
    const environment = {
      DATASTREAM_API_KEY: sandbox.apiKey,
      DATASTREAM_BASE_URL: ROOT,
      ...given.environment,
    };
    const result = await weir(line, { ...given, environment });
    const errors = withoutTimes(result.errors).map((text) => withoutFolder(text, folder));
    return { ...result, errors, requests };
  } finally {
    globalThis.fetch = fetch;
  }
}

function withoutFolder(text: string, folder: string | undefined): string {
  return folder === undefined ? text : text.replaceAll(`${folder}/`, "");
}

/** Removes from lines of standard error what depends on the speed of the machine. */
function withoutTimes(lines: readonly string[]): string[] {
  return lines
    .filter((text) => !/^Requesting the (first|next) page…/.test(text))
    .map((text) =>
      text.replace(/[\d,]+ rows\/s/, "N rows/s").replace(/, [\d:]+ \w+ left/, "")
        .replace(/( MB, )\d+ s$/, "$1T s")
    );
}

/** Runs scenarios in order and describes each; a text between them is a heading. */
export async function transcribe(
  scenarios: Iterable<Scenario | readonly string[] | string>,
): Promise<string> {
  const texts: string[] = [];
  for (const scenario of scenarios) {
    if (typeof scenario === "string") {
      texts.push(`# ${scenario}\n`);
      continue;
    }
    const { line, ...given } = "line" in scenario ? scenario : { line: scenario };
    const { code, output, errors, requests } = await record({ line, ...given });
    texts.push([
      shellText(line, given.environment),
      `exit code ${code}\n`,
      section("stdout", output),
      section("stderr", errors.map((text) => `${text}\n`).join("")),
      section("requests", requests.map((text) => `${text}\n`).join("")),
    ].join(""));
  }
  return texts.join("\n");
}

/** Runs command lines and describes each on one line: exit code, and messages or numbers of lines. */
export async function tabulate(
  lines: Iterable<Scenario | readonly string[]>,
  describeMore: () => string = () => "",
): Promise<string> {
  let table = "";
  for (const scenario of lines) {
    const { line, ...given }: Scenario = "line" in scenario ? scenario : { line: scenario };
    const { code, output, errors, requests } = await record({ line, ...given });
    const facts = [
      code,
      ...(output === "" ? [] : [summaryOf("stdout", output)]),
      ...(errors.length === 0
        ? []
        : [code === 0 ? summaryOf("stderr", errors.join("\n") + "\n") : errors[0]]),
      ...requests,
      ...[describeMore()].filter((text) => text !== ""),
    ];
    const command = withoutFolder(line.map(quote).join(" "), given.folder);
    table += visible(`${command} → ${facts.join(" | ")}`) + "\n";
  }
  return table;
}

/** Describes a text that is too long for a table: a single line in full, else its size and hash. */
export function summaryOf(name: string, text: string): string {
  if (/^[^\n]{1,200}\n$/.test(text)) return `${name} ${JSON.stringify(text)}`;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return `${name} ${text.split("\n").length - 1} lines ${hash}`;
}

function shellText(line: readonly string[], environment: Record<string, string> = {}): string {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)} `);
  return visible(`$ ${variables.join("")}${["weir", ...line].map(quote).join(" ")}`) + "\n";
}

function quote(text: string): string {
  if (/^[\w%+=:,./-]+$/.test(text)) return text;
  return text.includes("'") && !/["$`\\]/.test(text)
    ? `"${text}"`
    : `'${text.replaceAll("'", "'\\''")}'`;
}

function section(name: string, text: string): string {
  if (text === "") return "";
  const lines = text.split("\n");
  const isOpen = lines.at(-1) !== "";
  if (!isOpen) lines.pop();
  return `${name}${isOpen ? " (no line feed at the end)" : ""}:\n` +
    lines.map((line) => line === "" ? "\n" : `  ${visible(line)}\n`).join("");
}

/** Shows the control characters that text files hide. */
function visible(text: string): string {
  return text.replaceAll("\r", "␍").replaceAll("\ufeff", "<BOM>").replaceAll("\t", "<tab>")
    .replaceAll("\n", "<line feed>").replace(/ $/, "<space>");
}
