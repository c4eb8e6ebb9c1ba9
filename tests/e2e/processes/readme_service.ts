// Stands before a script of the README: the sandbox is what its fetch reaches.
import { createSandbox } from "../../../src/sandbox/service.ts";

const sandbox = createSandbox();
globalThis.fetch = (...request) => sandbox.fetch(new Request(...request));
