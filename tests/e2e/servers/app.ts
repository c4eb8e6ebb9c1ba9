// Serves the app with options from WEIR_TEST_OPTIONS, which the published entry point cannot set.
import { type AppOptions, createApp, type EdgeApp } from "../../../edge/app.ts";

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
  return JSON.parse(env?.WEIR_TEST_OPTIONS ?? bindings?.WEIR_TEST_OPTIONS ?? "");
}
