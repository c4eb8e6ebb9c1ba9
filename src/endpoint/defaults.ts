import { PRODUCTION_URL } from "../service_roots.ts";
import { VERSION } from "../version.ts";
import type { MergedOptions } from "./types.ts";

/** The defaults that every builder starts from (request-options-builder, Default headers). */
export const DEFAULTS: MergedOptions = {
  method: "GET",
  baseUrl: PRODUCTION_URL,
  headers: {
    accept: "application/vnd.datastream.v3+json",
    "user-agent": `weir-endpoint.js/${VERSION}`,
  },
  mediaType: {},
};
