import type { AccessMode } from "../options.ts";

/** A line that opens a download elsewhere. */
export interface Line {
  /** Where it is written. */
  program: string;
  /** What to do with it there. */
  how: string;
  text: string;
}

/** The header that a download needs, by access, and the environment variable to keep it in. */
const HEADERS: Partial<Record<AccessMode, [name: string, before: string, variable: string]>> = {
  caller: ["x-api-key", "", "DATASTREAM_API_KEY"],
  token: ["authorization", "Bearer ", "WEIR_TOKEN"],
};

/**
 * Lines that get a download in other programs; none holds a key or token.
 *
 * @param csv The URL of the CSV, encoded: without a quote
 * @param excel The URL of the CSV for Excel
 * @param name What a variable with the rows is called
 */
export function toLines(access: AccessMode, csv: string, excel: string, name: string): Line[] {
  const header = HEADERS[access];
  const [field, before, variable] = header ?? ["", "", ""];
  const curlHeader = header && `--header "${field}: ${before}$${variable}" `;
  const rValue = before
    ? `paste0("${before}", Sys.getenv("${variable}"))`
    : `Sys.getenv("${variable}")`;
  const python = before ? `"${before}" + os.environ["${variable}"]` : `os.environ["${variable}"]`;
  return [
    {
      program: "Excel",
      how: header ? "Data, Get Data, Blank Query, Advanced Editor" : "Data, From Web",
      text: header
        ? `Table.PromoteHeaders(Csv.Document(Web.Contents("${excel}", [Headers = [#"${field}" = "${before}…"]]), [Encoding = 65001]))`
        : excel,
    },
    {
      program: "R",
      how: "base R, no package needed",
      text: header
        ? `options(timeout = 3600); download.file("${csv}", "${name}.csv", mode = "wb", headers = c("${field}" = ${rValue})); ${name} <- read.csv("${name}.csv")`
        : `options(timeout = 3600); ${name} <- read.csv("${csv}")`,
    },
    {
      program: "Python, pandas",
      how: header ? "after import os, pandas as pd" : "after import pandas as pd",
      text: header
        ? `${name} = pd.read_csv("${csv}", storage_options={"${field}": ${python}})`
        : `${name} = pd.read_csv("${csv}")`,
    },
    {
      program: "Shell, curl",
      how: "its exit code is 0 when the file is whole",
      text: `curl --fail --remove-on-error ${curlHeader ?? ""}--output ${name}.csv '${csv}'`,
    },
  ];
}
