// Stands before a script of the README: the sandbox is what its fetch reaches.
import { createSandbox } from "@weir/datastream/sandbox";

const sandbox = createSandbox();
globalThis.fetch = (...request) => sandbox.fetch(new Request(...request));
