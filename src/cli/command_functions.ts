// The functions of the commands. commands.ts and main.ts import this module when a command runs, so that
// the help, the version and a wrong command line do not load the client.
//
// It is one module, because the npm package gets more and smaller files with each dynamic import.
export { setup } from "./api_key.ts";
export { cite } from "./cite.ts";
export { completionScript } from "./completion.ts";
export { download } from "./download.ts";
export { printFields, printSignedUrl, printUrl } from "./offline_commands.ts";
export { promptSecret } from "./prompt.ts";
export { serve, serverVariables } from "./serve.ts";
export { printValues } from "./values.ts";
