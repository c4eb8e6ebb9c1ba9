import { SERVER_BUNDLES } from "../../../.ci/server_bundles.ts";
import { bundle } from "../bundle.ts";

/** Bundles a module with the flags of a published bundle, whose name in `dist` is `name`. */
export function bundleAsPublished(
  name: keyof typeof SERVER_BUNDLES,
  module: string = SERVER_BUNDLES[name].module,
): Promise<string> {
  return bundle(module, "--platform", SERVER_BUNDLES[name].platform);
}
