import { runToEnd, start, withFiles } from "../command_line.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

class KillingService {
  /** Number of the request at which to kill the client; 0 for never. */
  at = 0;
  requests = 0;
  /** Time (ms) after the request at which to kill it; `undefined` instead of a response. */
  delay: number | undefined;
  child: Deno.ChildProcess | undefined;

  constructor(readonly handler: Handler) {}

  async respond(request: Request): Promise<Response> {
    if (++this.requests !== this.at) return await this.handler(request);
    if (this.delay === undefined) {
      this.child!.kill("SIGKILL");
      return new Response(null, { status: 503 });
    }
    const { child } = this;
    const timer = setTimeout(() => {
      try {
        child!.kill("SIGKILL");
      } catch {
        // It has just ended.
      }
    }, this.delay);
    child!.status.finally(() => clearTimeout(timer));
    return await this.handler(request);
  }
}

export interface KillableCommandLine {
  /** Runs a command line to its end. */
  run: (...args: string[]) => Promise<{ code: number; stderr: string }>;
  /** Kills a command line at its request number `at`; resolves to false if it ended before. */
  runUntilKilled: (at: number, ...args: string[]) => Promise<boolean>;
  /** Kills it some milliseconds after that request. */
  runUntilKilledLater: (at: number, delay: number, ...args: string[]) => Promise<boolean>;
}

/** Runs a test with a service that can kill its client. */
export async function withKillingService(
  handler: Handler,
  test: (weir: KillableCommandLine) => Promise<void>,
): Promise<void> {
  const service = new KillingService(handler);
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(options, (request) => service.respond(request));
  const { port } = server.addr;
  const environment = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  const line = { port, hasFiles: true, environment };
  const flags = [`--base-url=http://127.0.0.1:${port}/v1/odata/v4`, "--quiet"];
  const runUntilKilled = async (at: number, delay: number | undefined, args: string[]) => {
    Object.assign(service, { at, delay, requests: 0 });
    service.child = start(line, ...args, ...flags);
    const { signal } = await service.child.output();
    return signal === "SIGKILL";
  };
  await withFiles(() =>
    test({
      run(...args) {
        service.at = 0;
        return runToEnd(line, ...args, ...flags);
      },
      runUntilKilled: (at, ...args) => runUntilKilled(at, undefined, args),
      runUntilKilledLater: (at, delay, ...args) => runUntilKilled(at, delay, args),
    })
  );
}
