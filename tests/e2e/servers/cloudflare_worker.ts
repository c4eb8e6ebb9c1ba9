// The published Worker. Tests can also send messages to its Durable Object, and restart it.
import entry, {
  type ObjectContext,
  type ObjectNamespace,
  RateLimiterObject as PublishedObject,
} from "../../../edge/cloudflare/mod.ts";

/** Use of the Durable Object since its start. */
export interface ObjectUse {
  /** Number of messages by path. */
  messages: Record<string, number>;
  writes: number;
}

type TestContext = ObjectContext & { abort(reason: string): void };

/** The published object, which also counts its use, and restarts after a message. */
export class RateLimiterObject extends PublishedObject {
  readonly #context: TestContext;
  readonly #use: ObjectUse;

  constructor(context: TestContext) {
    const use: ObjectUse = { messages: {}, writes: 0 };
    const { storage } = context;
    super({
      storage: {
        get: (name) => storage.get(name),
        put: (name, value) => {
          use.writes++;
          return storage.put(name, value);
        },
      },
    });
    this.#context = context;
    this.#use = use;
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/abort") this.#context.abort("restart of a test");
    if (pathname === "/use") return Response.json(this.#use);
    this.#use.messages[pathname] = (this.#use.messages[pathname] ?? 0) + 1;
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
