// The rate limiter keeps its guarantees with Durable Objects of workerd.
import type { ObjectNamespace } from "../../../edge/cloudflare/mod.ts";
import { systemClock } from "../../../src/clock.ts";
import { createObjectLimiters } from "../../unit/edge/cloudflare/object_limiters.ts";
import { testRateLimiter } from "../../unit/client/rate_limiter_conformance.ts";
import { needing } from "../needs.ts";
import { workerd } from "../runtime_programs.ts";
import { createStorage, objectsOf, startIsolates } from "./isolates.ts";

let resources: AsyncDisposableStack;
let objects: ObjectNamespace<string>;
Deno.test.beforeAll(async () => {
  resources = new AsyncDisposableStack();
  if (workerd === undefined) return;
  const { path } = resources.use(await createStorage());
  const isolates = resources.use(await startIsolates({ environment: {}, storage: path, count: 1 }));
  objects = objectsOf(isolates);
});
Deno.test.afterAll(() => resources.disposeAsync());

let setups = 0;
function open() {
  const setup = ++setups;
  const ownObjects: ObjectNamespace<string> = {
    idFromName: (name) => objects.idFromName(`${setup} ${name}`),
    get: (id) => objects.get(id),
  };
  return createObjectLimiters(ownObjects, systemClock);
}

const name = "durableObjectRateLimiter() in workerd";
if (workerd === undefined) Deno.test(needing({ workerd }, name, () => {}));
else testRateLimiter(name, open, { hasStore: true, isConcurrent: true });
