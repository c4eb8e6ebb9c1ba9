import { SERVER_BUNDLES } from "../../../.ci/server_bundles.ts";
import { bundle } from "../bundle.ts";

/**
 * Bundles a module with the flags of a published bundle.
 *
 * @param name Name of the published bundle in `dist`
 * @param module Path of the module in the project. Default: that of the published bundle
 */
export function bundleAsPublished(
  name: keyof typeof SERVER_BUNDLES,
  module: string = SERVER_BUNDLES[name].module,
): Promise<string> {
  return bundle(module, "--platform", SERVER_BUNDLES[name].platform);
}
