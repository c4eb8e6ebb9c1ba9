import { runProgram } from "../../helpers/programs.ts";

/** Python with pandas: Debian installs pandas only for its own Python. `undefined` if not installed. */
export const python: string | undefined = await hasModule("python3", "pandas")
  ? "python3"
  : await hasModule("/usr/bin/python3", "pandas")
  ? "/usr/bin/python3"
  : undefined;

/** Debian's Python, whose pandas is older, without packages that pip installed elsewhere. */
export const SYSTEM_PYTHON = ["/usr/bin/python3", "-E"] as const;
export const hasSystemPandas: boolean = await succeeds(...SYSTEM_PYTHON, "-c", "import pandas");

/** Version 2 takes None for a missing value. */
export const hasPandas2: boolean = python !== undefined &&
  await succeeds(python, "-c", "import pandas; assert int(pandas.__version__.split('.')[0]) >= 2");
export const hasPyarrow: boolean = python !== undefined && await hasModule(python, "pyarrow");
export const hasPolars: boolean = python !== undefined && await hasModule(python, "polars");
export const hasR: boolean = await succeeds("Rscript", "-e", "library(survival)");
export const hasNanoparquet: boolean = await hasRPackage("nanoparquet");
export const hasDuckdb: boolean = await succeeds("node", "-e", 'require("@duckdb/node-api")');

export function hasRPackage(name: string): Promise<boolean> {
  return succeeds("Rscript", "-e", `library(${name})`);
}

function hasModule(program: string, name: string): Promise<boolean> {
  return succeeds(program, "-c", `import ${name}`);
}

async function succeeds(program: string, ...args: string[]): Promise<boolean> {
  return (await runProgram(program, ...args))?.success ?? false;
}
