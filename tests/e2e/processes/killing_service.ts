import { runToEnd, start, withFiles } from "../command_line.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

/** A service that kills its client at a given request. */
class KillingService {
  /** Number of the request at which to kill the client; 0 for never. */
  at = 0;
  requests = 0;
  child: Deno.ChildProcess | undefined;

  constructor(readonly handler: Handler) {}

  async respond(request: Request): Promise<Response> {
    if (++this.requests !== this.at) return await this.handler(request);
    this.child!.kill("SIGKILL");
    return new Response(null, { status: 503 });
  }
}

/** Functions that run command lines against a `KillingService`. */
export interface KillableCommandLine {
  /** Runs a command line to its end. */
  run: (...args: string[]) => Promise<{ code: number; stderr: string }>;
  /** Kills a command line at its request number `at`; resolves to false if it ended before. */
  runUntilKilled: (at: number, ...args: string[]) => Promise<boolean>;
  start: (...args: string[]) => Deno.ChildProcess;
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
  await withFiles(() =>
    test({
      run(...args) {
        service.at = 0;
        return runToEnd(line, ...args, ...flags);
      },
      async runUntilKilled(at, ...args) {
        service.at = at;
        service.requests = 0;
        service.child = start(line, ...args, ...flags);
        const { signal } = await service.child.output();
        return signal === "SIGKILL";
      },
      start: (...args) => start(line, ...args, ...flags),
    })
  );
}
