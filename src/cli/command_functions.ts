// Loaded when a command runs, so that the help and a wrong command line do not load the client. One
// module: the npm package gets more and smaller files with each dynamic import.
export { setup } from "./api_key.ts";
export { cite } from "./cite.ts";
export { printCompletion } from "./completion.ts";
export { doctor } from "./doctor.ts";
export { download } from "./download.ts";
export { printFields, printSignedUrl, printUrl } from "./offline_commands.ts";
export { serveMcp } from "./mcp.ts";
export { confirm, promptSecret } from "./prompt.ts";
export { serve, serverVariables } from "./serve.ts";
export { printSummary } from "./summary.ts";
export { syncMirror } from "./sync.ts";
export { printValues } from "./values.ts";
export { verify } from "./verify.ts";
