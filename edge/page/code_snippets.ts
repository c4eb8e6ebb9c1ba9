import type { AccessMode } from "../options.ts";

interface Credential {
  header: string;
  prefix: string;
  /** Environment variable that has the API key or token. */
  variable: string;
}

export const CREDENTIALS: Partial<Record<AccessMode, Credential>> = {
  caller: { header: "x-api-key", prefix: "", variable: "DATASTREAM_API_KEY" },
  token: { header: "authorization", prefix: "Bearer ", variable: "WEIR_TOKEN" },
};

interface Snippet {
  id: string;
  label: string;
  format: "csv" | "parquet";
  /** `name` is a variable. */
  code: (url: string, name: string, credential: Credential | undefined) => string;
}

/** Code that reads a download. It never contains a key or token. */
export const SNIPPETS: readonly Snippet[] = [
  {
    id: "r",
    label: "R",
    format: "csv",
    code(url, name, credential) {
      if (!credential) return `options(timeout = 3600)\n${name} <- read.csv("${url}")`;
      const { header, prefix, variable } = credential;
      const value = `paste0("${prefix}", Sys.getenv("${variable}"))`;
      return `options(timeout = 3600)\ndownload.file("${url}", "${name}.csv", mode = "wb",\n` +
        `  headers = c("${header}" = ${value}))\n${name} <- read.csv("${name}.csv")`;
    },
  },
  {
    id: "python",
    label: "Python",
    format: "csv",
    code(url, name, credential) {
      const options = credential
        ? `,\n  storage_options={"${credential.header}": "${credential.prefix}" + ` +
          `os.environ["${credential.variable}"]}`
        : "";
      return `${credential ? "import os\n" : ""}import pandas as pd\n\n` +
        `${name} = pd.read_csv("${url}"${options})`;
    },
  },
  {
    id: "duckdb",
    label: "DuckDB",
    format: "parquet",
    code(url, name, credential) {
      const secret = credential
        ? `CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {\n` +
          `  '${credential.header}': '${credential.prefix}' || getenv('${credential.variable}')});\n`
        : "";
      return `INSTALL httpfs; LOAD httpfs;\n${secret}CREATE TABLE ${name} AS\n` +
        `  SELECT * FROM read_parquet('${url.replaceAll("'", "''")}');`;
    },
  },
  {
    id: "julia",
    label: "Julia",
    format: "csv",
    code(url, name, credential) {
      const headers = credential
        ? `; headers = ["${credential.header}" => "${credential.prefix}" * ` +
          `ENV["${credential.variable}"]]`
        : "";
      return `using CSV, DataFrames, Downloads\n\n` +
        `${name} = CSV.read(Downloads.download("${
          url.replaceAll("$", "\\$")
        }"${headers}), DataFrame)`;
    },
  },
  {
    id: "curl",
    label: "curl",
    format: "csv",
    code(url, name, credential) {
      const header = credential
        ? `--header "${credential.header}: ${credential.prefix}$${credential.variable}" `
        : "";
      return `curl --fail --remove-on-error ${header}--output ${name}.csv '${url}'`;
    },
  },
  {
    id: "powershell",
    label: "PowerShell",
    format: "csv",
    code(url, name, credential) {
      const header = credential
        ? ` \`\n  -Headers @{ '${credential.header}' = "${credential.prefix}$env:${credential.variable}" }`
        : "";
      return `Invoke-WebRequest -Uri '${url}' -OutFile ${name}.csv${header}`;
    },
  },
];

export function createCodeSnippets(
  access: AccessMode,
  urls: { csv: string; parquet: string },
  name: string,
): { id: string; label: string; code: string }[] {
  return SNIPPETS.map(({ id, label, format, code }) => ({
    id,
    label,
    code: code(urls[format], name, CREDENTIALS[access]),
  }));
}
