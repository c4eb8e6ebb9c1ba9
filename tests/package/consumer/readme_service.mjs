// Preloaded before a script of the README: redirects its `fetch` to the sandbox.
import { createSandbox } from "@weir/datastream/sandbox";

const sandbox = createSandbox();
globalThis.fetch = (...request) => sandbox.fetch(new Request(...request));
