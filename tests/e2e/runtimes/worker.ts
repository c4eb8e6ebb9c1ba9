// The behaviours in a Worker: addresses in, outcomes out, both as JSON.
import { runBehaviours } from "./run_behaviours.ts";

const worker: { fetch(request: Request): Promise<Response> } = {
  fetch: async (request) => Response.json(await runBehaviours(await request.json())),
};
export default worker;
