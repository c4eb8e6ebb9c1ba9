/** As in `jsr.json`. */
export const VERSION = "0.1.0";

/** Version of the schema of a mirror's manifest, which `weir sync` writes and the server reads. */
export const MIRROR_SCHEMA = 1;
