import { CLIENT_FAULTS } from "./client_faults.ts";
import type { Fault } from "./fault.ts";
import { FORMAT_FAULTS } from "./format_faults.ts";
import { PROGRAM_FAULTS } from "./program_faults.ts";

/** The faults that the suite must catch, from the wire to the reader. */
export const FAULTS: readonly Fault[] = [...CLIENT_FAULTS, ...FORMAT_FAULTS, ...PROGRAM_FAULTS];
