import { createFirewall } from "../../../src/sandbox/firewall.ts";
import type { FakeClock } from "../../helpers/fake_clock.ts";
import {
  type Cause,
  type Delivery,
  type Evidence,
  type FaultContext,
  type FaultKind,
  type ServiceRequest,
  toDelivery,
} from "./fault_kind.ts";

const MINUTE = 60_000;
const PAGE = "<html><body><h1>403 Forbidden</h1></body></html>";
const BODIES: Record<number, string> = {
  401: '{"message":"Unauthorized"}',
  403: '{"message":"Forbidden"}',
  429: '{"error":"Too Many Requests","message":"You have exceeded the rate limit.","status":429}',
};

function refusal(status: number, isService = status !== 403): Delivery {
  return isService
    ? toDelivery(BODIES[status]!, status)
    : toDelivery(PAGE, status, { "content-type": "text/html" });
}

/** The firewall of the sandbox. It has a state for each plan. */
function firewall(maxRequests: number): FaultKind {
  const firewalls = new WeakMap<FakeClock, ReturnType<typeof createFirewall>>();
  const statuses = new WeakMap<ServiceRequest, number>();
  return {
    name: `firewall, ${maxRequests} requests in five minutes`,
    isPermanent: true,
    isRecoverable: false,
    causes: () => ["query", "length", ...maxRequests < Infinity ? ["block"] as const : []],
    applies({ request, clock }: FaultContext) {
      const refuse = firewalls.get(clock) ??
        createFirewall(maxRequests, () => clock.now(), { refused: 0 });
      firewalls.set(clock, refuse);
      const response = refuse(request.url);
      if (response !== undefined) statuses.set(request, response.status);
      return response !== undefined;
    },
    respond: ({ request }) => refusal(statuses.get(request)!),
  };
}

/** An address is refused for some minutes. With 403 from the first request on, the same as a rejected key. */
function block(status: 403 | 429, minutes: number): FaultKind {
  return {
    name: `block of ${minutes} minutes (${status})`,
    duration: minutes * MINUTE,
    isRecoverable: false,
    causes: ({ wasAnswered }) => [status === 429 || wasAnswered ? "block" : "key"],
    respond: () => refusal(status),
  };
}

/** A key that worked in the last 15 minutes is not taken for replaced. */
function forEver(name: string, status: number, isService: boolean): FaultKind {
  const causes = ({ wasAnswered }: Evidence): Cause[] =>
    wasAnswered && status === 403 ? ["block"] : ["key"];
  return {
    name,
    isRecoverable: false,
    times: Infinity,
    causes,
    respond: () => refusal(status, isService),
  };
}

/** A refusal of the known-good request, too, is about the key, or about the address if the key has worked. */
export function oneRefusal({ wasAnswered, isKnownGood }: Evidence): Cause[] {
  if (isKnownGood) return [wasAnswered ? "block" : "key"];
  return wasAnswered ? ["query", "length", "block"] : ["query", "length"];
}

/** What a firewall does, and a rejected key, which can look the same. */
export const FIREWALL_FAULTS: readonly FaultKind[] = [
  firewall(Infinity),
  firewall(Infinity),
  firewall(12),
  ...([403, 429] as const).flatMap((status) => [2, 5, 14].map((time) => block(status, time))),
  {
    name: "403 once",
    isRecoverable: false,
    times: 1,
    causes: oneRefusal,
    respond: () => refusal(403),
  },
  forEver("403 for ever", 403, false),
  forEver("rejected key (403)", 403, true),
  forEver("rejected key (401)", 401, true),
];
