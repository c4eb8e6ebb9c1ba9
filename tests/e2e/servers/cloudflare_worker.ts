// The published Worker. Tests can also send messages to its Durable Object, and restart it.
import entry, {
  type ObjectContext,
  type ObjectNamespace,
  RateLimiterObject as PublishedObject,
} from "../../../edge/cloudflare/mod.ts";

type TestContext = ObjectContext & { abort(reason: string): void };

/** The published object, which also counts its messages, and restarts after one. */
export class RateLimiterObject extends PublishedObject {
  readonly #context: TestContext;
  /** Number of messages by path, since its start. */
  readonly #messages: Record<string, number> = {};

  constructor(context: TestContext) {
    super(context);
    this.#context = context;
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/abort") this.#context.abort("restart of a test");
    if (pathname === "/messages") return Response.json(this.#messages);
    this.#messages[pathname] = (this.#messages[pathname] ?? 0) + 1;
    return await super.fetch(request);
  }
}

/** Path in front of the path of a message. The parameter `name` is the name of the object. */
const OBJECT_PATH = "/object";

const worker: typeof entry = {
  ...entry,
  async fetch(request, bindings) {
    const { pathname, searchParams } = new URL(request.url);
    if (!pathname.startsWith(`${OBJECT_PATH}/`)) return await entry.fetch(request, bindings);
    const { RATE_LIMITER: namespace } = bindings as { RATE_LIMITER: ObjectNamespace };
    const stub = namespace.get(namespace.idFromName(searchParams.get("name")!));
    const url = `http://object${pathname.slice(OBJECT_PATH.length)}`;
    const { method, body } = request;
    try {
      return await stub.fetch(url, { method, body });
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
};
export default worker;
