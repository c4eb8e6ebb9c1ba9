/**
 * Serves the app with synthetic data on the loopback interface.
 *
 * @module
 */
import { ValidationError } from "../src/errors.ts";
import { createApp } from "./app.ts";
import { readListenOptions, sandboxOptions } from "./server/config.ts";
import { DEFAULT_HOST } from "./http/options.ts";
import { createCode } from "../src/formats/code_snippets.ts";
import { ListenError, startServer } from "./server/start.ts";

try {
  const options = readListenOptions({ PORT: Deno.env.get("PORT"), HOST: DEFAULT_HOST });
  const { url } = await startServer(createApp(sandboxOptions()), options);
  console.log(introduction(url));
} catch (error) {
  if (!(error instanceof ValidationError || error instanceof ListenError)) throw error;
  const hint = error instanceof ListenError
    ? "; the variable PORT sets the port: PORT=8001 npx -y deno@2.9 task demo"
    : "";
  console.error(error.message + hint);
  Deno.exit(1);
}

function introduction(root: string): string {
  const ph = `${root}Records.csv?$filter=CharacteristicName%20eq%20%27pH%27`;
  const short = `${ph}&$select=MonitoringLocationID,ActivityStartDate,ResultValue,ResultUnit`;
  const code = [
    ["In R:", createCode("r", short, "ph")],
    ["In Python:", createCode("python", short, "ph")],
    ["In a shell:", createCode("curl", ph, "ph")],
  ];
  return `Weir serves synthetic data on this computer. Press Ctrl-C to stop it.

Open ${root}

All records: ${root}Records.csv

${code.map((lines) => lines.join("\n")).join("\n\n")}`;
}
