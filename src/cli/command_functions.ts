// Loaded when a command runs, so that the help and a wrong command line do not load the client. One
// module: the npm package gets more and smaller files with each dynamic import.
import { setup } from "./api_key.ts";
import type { Arguments } from "./arguments.ts";
import { cite } from "./cite.ts";
import { printCompletion } from "./completion.ts";
import type { Context } from "./context.ts";
import { download } from "./download.ts";
import { printFields, printSignedUrl, printUrl } from "./offline_commands.ts";
import { serve } from "./serve.ts";
import { printSummary } from "./summary.ts";
import { printValues } from "./values.ts";
import { verify } from "./verify.ts";
export { confirm, promptSecret } from "./prompt.ts";
export { serverVariables } from "./serve.ts";

/** Returns the exit code; 0 without a value. */
type Runner = (given: Arguments, context: Context) => Promise<number | void>;

export const RUNNERS: Readonly<Record<string, Runner>> = {
  ...{
    cite,
    download,
    printCompletion,
    printFields,
    printSignedUrl,
    printSummary,
    printUrl,
    printValues,
  },
  ...{ serve, setup, verify },
};
