import { runToEnd, start, withFiles } from "./command_line.ts";

export type Handler = (request: Request) => Response | Promise<Response>;

/** A service that kills whoever asks it, at the request that is told. */
class Killer {
  /** The number of the request, from 1; 0 is none. */
  at = 0;
  asked = 0;
  child: Deno.ChildProcess | undefined;

  constructor(readonly handler: Handler) {}

  async answer(request: Request): Promise<Response> {
    if (++this.asked !== this.at) return await this.handler(request);
    this.child!.kill("SIGKILL");
    return new Response(null, { status: 503 });
  }
}

/** The command line, as the tests of a service that kills it run it. */
export interface Weir {
  /** Runs to the end. */
  run: (...args: string[]) => Promise<{ code: number; stderr: string }>;
  /** Runs until the service kills it at a request; false where it came to its end before. */
  runUntilKilled: (at: number, ...args: string[]) => Promise<boolean>;
  start: (...args: string[]) => Deno.ChildProcess;
}

/** Runs a test with a service that can kill the command line at a request. */
export async function withKiller(
  handler: Handler,
  test: (weir: Weir) => Promise<void>,
): Promise<void> {
  const killer = new Killer(handler);
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(options, (request) => killer.answer(request));
  const { port } = server.addr;
  const environment = { DATASTREAM_API_KEY: "sandbox", WEIR_REQUESTS_PER_SECOND: "Infinity" };
  const line = { port, hasFiles: true, environment };
  const more = [`--base-url=http://127.0.0.1:${port}/v1/odata/v4`, "--quiet"];
  await withFiles(() =>
    test({
      run(...args) {
        killer.at = 0;
        return runToEnd(line, ...args, ...more);
      },
      async runUntilKilled(at, ...args) {
        killer.at = at;
        killer.asked = 0;
        killer.child = start(line, ...args, ...more);
        const { signal } = await killer.child.output();
        return signal === "SIGKILL";
      },
      start: (...args) => start(line, ...args, ...more),
    })
  );
}
