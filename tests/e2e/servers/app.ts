// Serves the app with options from WEIR_TEST_OPTIONS, which the published entry point cannot set.
import { type AppOptions, createApp, type EdgeApp } from "../../../edge/app.ts";
import { type Clock, systemClock } from "../../../src/clock.ts";

type Environment = Record<string, string | undefined>;

const scope = globalThis as { process?: { env: Environment } };
let app: EdgeApp | undefined;

const entry: {
  idleTimeout: number;
  fetch(request: Request, bindings?: Environment): Response | Promise<Response>;
} = {
  idleTimeout: 255,
  fetch(request, bindings) {
    app ??= createApp(readOptions(bindings));
    return app.fetch(request);
  },
};
export default entry;

function readOptions(bindings: Environment | undefined): AppOptions {
  const { env } = scope.process ?? {};
  const { speed, ...options } = JSON.parse(
    env?.WEIR_TEST_OPTIONS ?? bindings?.WEIR_TEST_OPTIONS ?? "",
  );
  return speed === undefined ? options : { ...options, clock: fastClock(speed) };
}

/** Creates a clock that is faster than real time by a factor. */
function fastClock(speed: number): Clock {
  return {
    now: () => systemClock.now() * speed,
    sleep: (milliseconds, signal) => systemClock.sleep(milliseconds / speed, signal),
  };
}
