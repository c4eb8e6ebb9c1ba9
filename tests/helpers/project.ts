import { fileURLToPath } from "node:url";
import jsr from "../../jsr.json" with { type: "json" };

/** Path of the project's folder with a trailing slash. */
export const PROJECT: string = fileURLToPath(new URL("../../", import.meta.url));

/** Version of the package. */
export const VERSION: string = jsr.version;
