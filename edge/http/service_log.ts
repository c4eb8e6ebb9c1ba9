// The lines of the log about the service: one when it stops answering, and one when it answers again.
import { describeService } from "../../src/client/http_error.ts";
import type { ServiceState } from "../../src/client/rate_limiter.ts";
import type { Settings } from "./options.ts";
import type { RequestLog } from "./request_log.ts";

/** `log` is that of the request that notices the change. */
export type ServiceLog = (service: ServiceState, log: RequestLog) => void;

export function createServiceLog({ access, clock, now }: Settings): ServiceLog {
  let last: ServiceState["is"] = "answering";
  let changedAt = -Infinity;
  return (service, log) => {
    const { is, checkedAge = Infinity } = service;
    // A caller's key says nothing about the service.
    if (is === last || is === "key rejected" && access === "caller") return;
    // The key of another caller can have been answered before that.
    if (is === "answering" && clock.now() - checkedAge < changedAt) return;
    [last, changedAt] = [is, clock.now()];
    log.logMessage(describeService(service, now()), is === "answering" ? "info" : "warn");
  };
}
