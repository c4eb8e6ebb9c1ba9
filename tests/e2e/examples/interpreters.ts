import { runProgram } from "../../helpers/programs.ts";

/** Python with pandas: Debian installs pandas only for its own Python. `undefined` if not installed. */
export const python: string | undefined = await hasModule("python3", "pandas")
  ? "python3"
  : await hasModule("/usr/bin/python3", "pandas")
  ? "/usr/bin/python3"
  : undefined;

/** Version 2 takes None for a missing value. */
export const hasPandas2: boolean = python !== undefined &&
  await succeeds(python, "-c", "import pandas; assert int(pandas.__version__.split('.')[0]) >= 2");
export const hasPyarrow: boolean = python !== undefined && await hasModule(python, "pyarrow");
export const hasR: boolean = await succeeds("Rscript", "-e", "library(survival)");
export const hasNanoparquet: boolean = await succeeds("Rscript", "-e", "library(nanoparquet)");

function hasModule(program: string, name: string): Promise<boolean> {
  return succeeds(program, "-c", `import ${name}`);
}

async function succeeds(program: string, ...args: string[]): Promise<boolean> {
  return (await runProgram(program, ...args))?.success ?? false;
}
