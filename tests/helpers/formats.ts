/**
 * The table of formats, which no entry point exports. Tests that repeat for each format use it, so that
 * they also cover a new format.
 */
export { FORMAT_NAMES, FORMAT_SYNONYMS, FORMATS, formatsOf } from "../../src/formats/formats.ts";
