/** The version of this package, as in `jsr.json`. */
export const VERSION = "0.1.0";
