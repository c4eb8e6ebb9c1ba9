import { html } from "hono/html";
import type { AccessMode } from "../options.ts";

interface CodeSnippet {
  program: string;
  usage: string;
  code: string;
}

interface CredentialHeader {
  name: string;
  prefix: string;
  variable: string;
}

const CREDENTIAL_HEADERS: Partial<Record<AccessMode, CredentialHeader>> = {
  caller: { name: "x-api-key", prefix: "", variable: "DATASTREAM_API_KEY" },
  token: { name: "authorization", prefix: "Bearer ", variable: "WEIR_TOKEN" },
};

/** The code never contains a key or token. */
export function createCodeSnippets(
  access: AccessMode,
  csv: string,
  excel: string,
  variable: string,
): CodeSnippet[] {
  const header = CREDENTIAL_HEADERS[access];
  return [
    {
      program: "Excel",
      usage: header ? "Data, Get Data, Blank Query, Advanced Editor" : "Data, From Web",
      code: header ? excelCode(excel, header) : excel,
    },
    {
      program: "R",
      usage: "base R, no packages needed",
      code: `options(timeout = 3600); ${rCode(csv, variable, header)}`,
    },
    {
      program: "Python, pandas",
      usage: header ? "after import os, pandas as pd" : "after import pandas as pd",
      code: `${variable} = pd.read_csv("${csv}"${header ? pandasOptions(header) : ""})`,
    },
    {
      program: "Shell, curl",
      usage: "exit code 0 if the file is complete",
      code: `curl --fail --remove-on-error ${
        header ? curlOption(header) : ""
      }--output ${variable}.csv '${csv}'`,
    },
  ];
}

function excelCode(url: string, { name, prefix }: CredentialHeader): string {
  const contents = `Web.Contents("${url}", [Headers = [#"${name}" = "${prefix}…"]])`;
  return `Table.PromoteHeaders(Csv.Document(${contents}, [Encoding = 65001]))`;
}

function rCode(url: string, rows: string, header: CredentialHeader | undefined): string {
  if (!header) return `${rows} <- read.csv("${url}")`;
  const { name, prefix, variable } = header;
  const credential = `Sys.getenv("${variable}")`;
  const value = prefix ? `paste0("${prefix}", ${credential})` : credential;
  const options = `mode = "wb", headers = c("${name}" = ${value})`;
  return `download.file("${url}", "${rows}.csv", ${options}); ${rows} <- read.csv("${rows}.csv")`;
}

function pandasOptions({ name, prefix, variable }: CredentialHeader): string {
  const credential = `os.environ["${variable}"]`;
  const value = prefix ? `"${prefix}" + ${credential}` : credential;
  return `, storage_options={"${name}": ${value}}`;
}

function curlOption({ name, prefix, variable }: CredentialHeader): string {
  return `--header "${name}: ${prefix}$${variable}" `;
}

export function renderCodeSnippets(
  url: string,
  snippets: readonly CodeSnippet[],
): ReturnType<typeof html> {
  return html`
    <h3>Use in other programs</h3>
    <dl class="snippets">
      ${renderSnippet("url", "URL", url)} ${snippets.map(({ program, usage, code }, index) =>
        renderSnippet(index, html`${program} <small>${usage}</small>`, code)
      )}
    </dl>
  `;
}

function renderSnippet(
  id: number | string,
  term: string | ReturnType<typeof html>,
  code: string,
): ReturnType<typeof html> {
  return html`
    <dt id="snippet-${id}">${term}</dt>
    <dd><code tabindex="0" role="group" aria-labelledby="snippet-${id}">${code}</code></dd>
  `;
}
