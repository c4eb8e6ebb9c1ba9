// Compares `@octokit/endpoint` with `endpoint()` in the current runtime: a ratio above 1 means that
// `endpoint()` is faster.
import { endpoint as octokit } from "@octokit/endpoint";
import { endpoint } from "../../mod.ts";
import { compareBuilders } from "./endpoint_calls.ts";

await compareBuilders(octokit as unknown as typeof endpoint, endpoint);
