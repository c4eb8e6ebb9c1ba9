// The rate limiter whose state is in Durable Objects of workerd.
import "../../helpers/task_permissions.ts";
import { systemClock } from "../../../src/clock.ts";
import { createObjectLimiters } from "../../helpers/object_limiters.ts";
import { testRateLimiter } from "../../helpers/rate_limiter_conformance.ts";
import { workerd } from "../../helpers/runtime_programs.ts";
import { createStorage, objectsOf, startIsolates } from "./isolates.ts";

testRateLimiter("durableObjectRateLimiter() in workerd", async () => {
  const resources = new AsyncDisposableStack();
  const storage = resources.use(await createStorage());
  const isolates = resources.use(
    await startIsolates({ environment: {}, storage: storage.path, count: 1 }),
  );
  const setup = createObjectLimiters(objectsOf(isolates), systemClock);
  return { ...setup, close: () => resources.disposeAsync() };
}, { hasStore: true, ignore: workerd === undefined });
