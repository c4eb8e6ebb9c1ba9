// Compares the cause that an error names with the causes of the faults that were drawn.
import { DataStreamError } from "../../../mod.ts";
import type { Cause } from "./fault_kind.ts";
import type { Fault } from "./faults.ts";
import type { Exchange, FaultyService } from "./faulty_service.ts";
import type { Plan } from "./plan.ts";
import type { RunOutput } from "./read_output.ts";

/** Time (ms) after a success for which a key is not taken for replaced. */
const KEY_TTL = 900_000;

const KNOWN_GOOD = "?%24select=DOI&%24top=1";

/** Words in which the client or the server names a cause. */
const WORDS: Readonly<Record<Cause, RegExp>> = {
  key: /(?:check|send) (?:the|an|another) API key|API key refused|rejected the API key/,
  query: /to this query, but accepts the API key|use a wider/,
  length: /a firewall can refuse more than/,
  block: /other programs with this key|refused all requests|DataStream is busy/,
  limit: /rate limit/i,
  outage: /has not answered|does not answer|No complete response|within \d+ s/,
};

/** Adds a violation for each cause that an error names, but that no fault has. */
export function checkCause(plan: Plan, service: FaultyService, { error }: RunOutput): string[] {
  const { exchanges } = service;
  const applied = plan.faults.filter(({ applied }) => applied > 0);
  const known = new Set(applied.flatMap((fault) => causesOf(fault, exchanges)));
  // Without the message of the service.
  const text = String(error).replace(/\([^)]*\)/g, "");
  const named = (Object.keys(WORDS) as Cause[]).filter((cause) => WORDS[cause].test(text));
  if (error instanceof DataStreamError) named.push(...namedByMembers(error));
  const wrong = new Set(named.filter((cause) => !known.has(cause)));
  const violations = [...wrong].map((cause) => `wrong cause: ${cause}, not ${[...known]}: ${text}`);
  const { status, url = "" } = error as Partial<DataStreamError>;
  const isSent = !(error instanceof DataStreamError) || status === undefined ||
    exchanges.some((exchange) => exchange.status === status);
  if (!isSent) violations.push(`wrong cause: no response had status ${status}`);
  const [, value] = /takes its value "(.*?)" for an attack/.exec(text) ?? [];
  if (value !== undefined && !plan.filter?.includes(value.replaceAll("'", "''"))) {
    violations.push(`wrong cause: the filter has no value ${value}`);
  }
  const isLong = named.includes("length") && url !== "" && new URL(url).search.length <= 2_000;
  if (isLong) violations.push(`wrong cause: ${url.length} bytes are not long`);
  return violations;
}

/** Faults without causes are outages, or pages that are broken. */
function causesOf(fault: Fault, exchanges: readonly Exchange[]): readonly Cause[] {
  if (fault.kind.causes === undefined) return ["outage"];
  return exchanges.flatMap(({ faults, time, request: { url } }, index) => {
    if (!faults.includes(fault)) return [];
    const earlier = exchanges.slice(0, index).filter((other) => time - other.time < KEY_TTL);
    const isKnownGood = url.search === KNOWN_GOOD;
    // A response that broke may have had rows.
    const answers = [
      ({ status, faults }: Exchange) => status === 200 && faults.length === 0,
      ({ status }: Exchange) => status === 200,
    ];
    return answers.flatMap((isAnswer) =>
      fault.kind.causes!({ wasAnswered: earlier.some(isAnswer), isKnownGood })
    );
  });
}

function namedByMembers({ kind, status, isTemporary, rule }: DataStreamError): Cause[] {
  if (kind === "refused") return [rule === undefined ? "query" : "length"];
  if (kind === "rate-limit") return ["limit"];
  if (kind === "network") return ["outage"];
  if (kind !== "status") return [];
  if (status === 429 || status === 403 && isTemporary) return ["block"];
  return status === 401 || status === 403 ? ["key"] : rule === undefined ? [] : ["length"];
}
