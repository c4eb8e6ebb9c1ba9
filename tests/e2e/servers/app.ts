// Serves the app with options from WEIR_TEST_OPTIONS, which the published entry point cannot set.
import { type AppOptions, createApp, type EdgeApp } from "../../../edge/app.ts";

type Environment = Record<string, string | undefined>;

const scope = globalThis as { process?: { env: Environment } };
let app: EdgeApp | undefined;

const entry: {
  idleTimeout: number;
  fetch(request: Request, context?: unknown): Response | Promise<Response>;
} = {
  idleTimeout: 255,
  fetch(request, context) {
    app ??= createApp(readOptions(context));
    return app.fetch(request, context);
  },
};
export default entry;

function readOptions(context: unknown): AppOptions {
  const { env } = scope.process ?? {};
  // On Workers, the context is the environment.
  const bindings = context as Environment | undefined;
  const text = env?.WEIR_TEST_OPTIONS ?? bindings?.WEIR_TEST_OPTIONS ?? "";
  return JSON.parse(text);
}
