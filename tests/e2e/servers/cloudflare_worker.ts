// The published Worker, whose Durable Object a test can restart.
import entry, {
  type ObjectContext,
  type ObjectNamespace,
  RateLimiterObject as PublishedObject,
} from "../../../edge/server/cloudflare/mod.ts";

type TestContext = ObjectContext & { abort(reason: string): void };

export class RateLimiterObject extends PublishedObject {
  readonly #context: TestContext;

  constructor(context: TestContext) {
    super(context);
    this.#context = context;
  }

  override async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === "/restart") this.#context.abort("restart of a test");
    return await super.fetch(request);
  }
}

const worker: typeof entry = {
  ...entry,
  async fetch(request, bindings) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/restart") return await entry.fetch(request, bindings);
    const { RATE_LIMITER: namespace } = bindings as { RATE_LIMITER: ObjectNamespace };
    const stub = namespace.get(namespace.idFromName(searchParams.get("name")!));
    try {
      return await stub.fetch("http://object/restart", { method: "POST", body: "{}" });
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
};
export default worker;
