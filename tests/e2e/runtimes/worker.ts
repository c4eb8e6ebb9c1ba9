// Runs the behaviours in a Worker: base URLs in the request, results in the response, as JSON.
import { runBehaviours } from "./run_behaviours.ts";

const worker: { fetch(request: Request): Promise<Response> } = {
  fetch: async (request) => Response.json(await runBehaviours(await request.json())),
};
export default worker;
