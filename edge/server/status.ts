// The page of state, for the person who runs the server: without a script, and never stored.
import { html } from "hono/html";
import { sha256Hex } from "../../src/bytes.ts";
import { describeService } from "../../src/client/http_error.ts";
import type { AppContext } from "../downloads/document.ts";
import { bearerToken, requireKnownToken } from "../http/access.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Metrics } from "../http/metrics.ts";
import { reasonNotReady } from "../http/readiness.ts";
import { residentBytes } from "../http/runtime.ts";

/** Browsers ask for a password; programs send the token as Bearer. */
const CHALLENGE = 'Basic realm="Weir", charset="UTF-8", Bearer';
/** Digits of the hash of a client without a name. */
const HASH_LENGTH = 8;

type Row = readonly (string | number)[];

/** `open` has the requests in progress, without this one; `undefined` if the runtime does not report their ends. */
export async function respondWithStatus(
  exchange: Exchange,
  context: AppContext,
  metrics: Metrics,
  open: ReadonlySet<Exchange> | undefined,
): Promise<Response> {
  const { request } = exchange;
  const token = bearerToken(request) ?? basicPassword(request);
  await requireKnownToken(token, [{ secret: context.settings.metricsToken! }], CHALLENGE);
  const others = [...open ?? []].filter((other) => other !== exchange);
  const requests = await Promise.all(others.map((other) => describe(other, context.settings)));
  const page = html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <title>Weir: state</title>
      </head>
      <body>
    <h1>State of Weir</h1>
    <p>${new Date(context.settings.now()).toISOString()}</p>
    ${table("Service", ["fact", "value"], serviceRows(context))}
    ${table("Limits", ["fact", "value"], limitRows(context))}
    ${table("Responses with status 503, by cause", ["cause", "number"], metrics.unavailable())}
    ${open === undefined
      ? html`<p>This runtime does not report when requests end.</p>`
      : table("Requests in progress", REQUEST_COLUMNS, requests)}
      </body>
    </html>
  `;
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
  return new Response(String(await page), { headers });
}

function serviceRows({ settings, accessControl, requests }: AppContext): Row[] {
  const { service } = accessControl.server.dataStream;
  const { is, answeredAge, wait } = service;
  return [
    ["DataStream", is === "answering" ? "answers" : describeService(service, settings.now())],
    ["ready", reasonNotReady(service) ?? "yes"],
    ["last complete response", answeredAge === undefined ? "none" : `${seconds(answeredAge)} ago`],
    ["next request may start in", seconds(wait)],
    ["requests that wait for DataStream's limits", requests.size],
  ];
}

function limitRows({ settings, feeds }: AppContext): Row[] {
  const { slots } = feeds;
  const resident = residentBytes();
  return [
    ["downloads that use DataStream", `${slots.running} of ${slots.options.max}`],
    ["downloads that wait for a slot", slots.size - slots.running],
    ["rows in memory", `${megabytes(feeds.bytes)} of ${megabytes(settings.maxCachedBytes)}`],
    ...[...feeds.bytesByFormat()].map(([format, bytes]): Row => [
      `of them ${format}`,
      megabytes(bytes),
    ]),
    ["resident memory", resident === undefined ? "not known" : megabytes(resident)],
  ];
}

const REQUEST_COLUMNS = [
  "client",
  "path",
  "state",
  "for",
  "rows",
  "bytes",
  "wait at the limiter",
  "upstream requests",
  "id",
];

/** Of HTTP Basic (RFC 7617), with any user name. */
function basicPassword({ headers }: Request): string | undefined {
  const encoded = /^basic +([A-Za-z\d+/]+=*)\s*$/i.exec(headers.get("authorization") ?? "")?.[1];
  try {
    return encoded && /^[^:]*:(.*)$/s.exec(atob(encoded))?.[1];
  } catch {
    return undefined;
  }
}

/** Shows a client by the name of its token, or else by a hash, because an address is personal data. */
async function describe(
  { client, facts, isStream, startedAt, upstream, log }: Exchange,
  { clock }: AppContext["settings"],
): Promise<Row> {
  const hash = client === undefined ? "unknown" : (await sha256Hex(client)).slice(0, HASH_LENGTH);
  return [
    facts.token ?? hash,
    facts.path,
    isStream ? "sends rows" : "waits",
    seconds(clock.now() - startedAt),
    facts.rows,
    facts.bytes,
    seconds(upstream.waited),
    upstream.requests,
    log.id,
  ];
}

function table(title: string, names: readonly string[], rows: readonly Row[]) {
  return html`
    <h2>${title}</h2>
    <table>
      <thead>
        <tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr>
      </thead>
      <tbody>${rows.map((row) =>
        html`
          <tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>
        `
      )}</tbody>
    </table>
  `;
}

const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
