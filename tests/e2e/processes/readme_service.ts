// Loaded before a script of the README: replaces fetch() by the sandbox's.
import { createSandbox } from "../../../src/sandbox/service.ts";

const sandbox = createSandbox();
globalThis.fetch = (...request) => sandbox.fetch(new Request(...request));
