// Preloaded before an example: sends its requests to the service at the URL in `SERVICE`.
const service = Deno.env.get("SERVICE")!;
const { fetch } = globalThis;
globalThis.fetch = (...init) => {
  const request = new Request(...init);
  const { pathname, search } = new URL(request.url);
  return fetch(new Request(service + pathname + search, request));
};
