// Loaded before a program of the documents: the sandbox replaces DataStream, and a server does not keep
// the process running.
import { createSandbox } from "../../../src/sandbox/service.ts";

const sandbox = createSandbox();
globalThis.fetch = (...init) => {
  const request = new Request(...init);
  // Some programs have a placeholder for the key.
  if (/^your/i.test(request.headers.get("x-api-key") ?? "")) {
    request.headers.set("x-api-key", sandbox.apiKey);
  }
  return sandbox.fetch(request);
};

const { serve } = Deno;
Deno.serve = ((...args: Parameters<typeof serve>) => {
  const server = serve(...args);
  server.unref();
  return server;
}) as typeof serve;
