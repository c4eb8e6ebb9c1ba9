// Loaded before a program of the documents: the sandbox replaces DataStream, time passes ten times as fast, and a
// server does not keep the process running.
import { createSandbox } from "../../../src/sandbox/service.ts";

const SPEED = 10;
const now = performance.now.bind(performance);
performance.now = () => SPEED * now();
const { setTimeout: startTimer } = globalThis;
globalThis.setTimeout =
  ((run: () => void, delay = 0) => startTimer(run, delay / SPEED)) as typeof setTimeout;

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
