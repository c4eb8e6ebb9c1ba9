// What `weir sync` and the server agree on about a mirror.

/** Name of the manifest. */
export const MANIFEST = "datapackage.json";

/** Version of the schema of the manifest. */
export const MIRROR_SCHEMA = 1;
