import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { endpoint } from "../endpoint/endpoint.ts";
import { DataStreamError } from "../errors.ts";
import { parseJson } from "../client/http_error.ts";
import { type ClientSettings, toClientSettings } from "../client/options.ts";
import { redactionOf, sendRequest } from "../client/transport.ts";
import { explainingErrors, statIfExists } from "../files/output.ts";
import { oldNodeMessage } from "../node_version.ts";
import { type ResourceName, RESOURCES } from "../odata/resources.ts";
import { VERSION } from "../version.ts";
import { keyPath, MissingKey } from "./api_key.ts";
import type { Arguments } from "./arguments.ts";
import { readClientOptions } from "./command_query.ts";
import { CommandError, type Context } from "./context.ts";
import {
  type Answer,
  type Answers,
  type CheckResult,
  compareAnswers,
  endsRun,
  type Facts,
  type ProbeName,
  PROBES,
  REFUSED,
  runChecks,
} from "./doctor_checks.ts";
import { messageOf, readBaseUrl } from "./flags.ts";
import { countText } from "./progress_report.ts";

/** Rows of each answer in the file of `--save`. */
const SAVED_ROWS = 3;
/** Characters of an answer that is not JSON. */
const SAVED_TEXT = 2_000;

/** Exits with 1 if something differs that Weir does not handle. */
export async function doctor({ flags }: Arguments, context: Context): Promise<number> {
  const compared = flags.get("compare")?.[0];
  const saved = compared === undefined ? undefined : await readSaved(compared);
  const isSandbox = flags.has("sandbox") || flags.has("sandbox-firewall");
  const options = await readClientOptions(flags, context).catch((error) => {
    if (!(error instanceof MissingKey)) throw error;
    return { baseUrl: readBaseUrl(flags, context), apiKey: undefined };
  });
  const settings = toClientSettings({ ...options, retry: { attempts: 1 } });
  const { apiKey, baseUrl } = settings;
  const { answers, missing } = await askService(settings, context);
  const computer = await checkComputer(context, isSandbox, apiKey !== undefined);
  const results = runChecks({ answers, computer, missing });
  const redact = redactionOf(isSandbox ? undefined : apiKey); // the sandbox's key is a word of its address
  const toJson = (value: unknown) =>
    `${JSON.stringify(value, (_, one) => typeof one === "string" ? redact(one) : one, 1)}\n`;
  const report = { weir: VERSION, runtime: runtimeName(), service: baseUrl };
  if (flags.has("json")) await context.print(toJson({ ...report, checks: results }));
  else await context.print(results.map((one) => `${redact(lineOf(one))}\n`).join(""));
  const path = flags.get("save")?.[0];
  if (path !== undefined) {
    const kept = Object.entries<Answer>(answers).map(([name, answer]) => [name, shorten(answer)]);
    const text = toJson({ ...report, answers: Object.fromEntries(kept) });
    await explainingErrors(path, writeFile(path, text));
  }
  if (saved !== undefined) {
    compareAnswers(answers, saved).forEach((line) => context.printError(redact(line)));
  }
  context.printError(summaryOf(results, Object.keys(answers).length));
  return results.some(({ result, isHandled }) => result === "differs" && !isHandled) ? 1 : 0;
}

/** Sends the requests in order, until an answer says that no other is useful. */
async function askService(
  settings: ClientSettings,
  context: Context,
): Promise<Pick<Facts, "answers" | "missing">> {
  const { apiKey, baseUrl } = settings;
  const names = (Object.keys(PROBES) as ProbeName[])
    .filter((name) => apiKey !== undefined || name === "no key");
  const answers: Answers = {};
  for (const isRefused of [false, true]) {
    const group = names.filter((name) => REFUSED.includes(name) === isRefused);
    const end = isRefused ? " that must be refused" : "";
    const count = countText(group.length, "request");
    if (group.length > 0) context.printError(`Sending ${count} to ${baseUrl}${end}`);
    for (const name of group) {
      const request = PROBES[name](answers);
      if (request === undefined) continue;
      const sent = name === "no key" ? { ...settings, apiKey: undefined } : settings;
      const { status } = answers[name] = await requestAnswer(sent, context, request);
      if (status === 0) return { answers, missing: "no answer" };
      if (status === 429 || name === "metadata" && endsRun(status)) {
        return { answers, missing: `not sent after status ${status}` };
      }
    }
  }
  const missing = apiKey === undefined ? "no API key" : "another answer lacks what it needs";
  return { answers, missing };
}

async function requestAnswer(
  settings: ClientSettings,
  { clock, signal }: Context,
  [resource, query]: readonly [ResourceName, object],
): Promise<Answer> {
  const { baseUrl, apiKey } = settings;
  const headers = { ...settings.headers, "x-api-key": apiKey };
  const { path } = RESOURCES[resource];
  const request = endpoint(`GET ${path}`, { baseUrl, headers, $select: undefined, ...query });
  const answer: Answer = { url: request.url, status: 0, headers: {}, body: "", at: 0 };
  const fetch = async (sent: Request) => {
    const response = await settings.fetch(sent);
    const text = await response.clone().text();
    answer.status = response.status;
    answer.headers = Object.fromEntries(response.headers);
    answer.body = parseJson(text) ?? text;
    answer.at = clock.now();
    return response;
  };
  // No request follows a block or an outage, so the limiter need not know of it.
  const ignore = () => Promise.resolve();
  try {
    (await sendRequest(request, { ...settings, fetch }, signal, () => {}, ignore)).close();
  } catch (error) {
    if (!(error instanceof DataStreamError)) throw error;
    answer.problem = error.status === undefined ? messageOf(error) : error.detail;
  }
  return answer;
}

function lineOf({ check, result, assumption, detail, otherwise }: CheckResult): string {
  const start = `${result.padEnd(12)} ${check}`;
  if (result === "holds") return `${start}: ${assumption}`;
  if (result === "not checked") return `${start} (${detail})`;
  return `${start}: expected that ${assumption}, but ${detail}. Then: ${otherwise}`;
}

function summaryOf(results: readonly CheckResult[], requests: number): string {
  const count = (wanted: string) => results.filter(({ result }) => result === wanted).length;
  return `${countText(requests, "request")}: ${count("holds")} checks hold, ${
    count("differs")
  } differ, ` +
    `${count("not checked")} were not made`;
}

function runtimeName(): string {
  const { deno, bun, node } = process.versions as Record<string, string | undefined>;
  const name = deno ? `Deno ${deno}` : bun ? `Bun ${bun}` : `Node ${node}`;
  return `${name}, ${process.platform}`;
}

async function checkComputer(
  context: Context,
  isSandbox: boolean,
  hasKey: boolean,
): Promise<Facts["computer"]> {
  const path = keyPath(context.environmentIfAllowed);
  const isSaved = !isSandbox && hasKey && !context.environmentIfAllowed("DATASTREAM_API_KEY");
  const mode = isSaved && path && process.platform !== "win32"
    ? (await statIfExists(path))?.mode
    : undefined;
  return {
    runtime: oldNodeMessage(),
    "key file": mode === undefined
      ? { unknown: "the key is not read from a file" }
      : (mode & 0o077) > 0
      ? `others can read ${path}`
      : undefined,
    proxy: isSandbox ? { unknown: "no network" } : context.networkHint(),
  };
}

/** Keeps the first rows. */
function shorten(answer: Answer): Answer {
  const { body } = answer;
  const { value } = Object(body);
  if (typeof body === "string") return { ...answer, body: body.slice(0, SAVED_TEXT) };
  if (!Array.isArray(value)) return answer;
  return { ...answer, body: { ...Object(body), value: value.slice(0, SAVED_ROWS) } };
}

async function readSaved(path: string): Promise<Answers> {
  const text = await explainingErrors(path, readFile(path, "utf8"));
  const { answers } = Object(parseJson(text));
  if (typeof answers === "object" && answers !== null) return answers;
  throw new CommandError(`${path} is not a file of weir doctor --save`);
}
