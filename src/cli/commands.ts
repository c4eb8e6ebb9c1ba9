// Parsing, help and completion derive from this table.
import { SUMMARY_FORMATS } from "../formats/formats.ts";
import { SUMMARY_KEYS } from "../odata/resources.ts";
import { CITATION_FORMATS } from "../formats/citations.ts";
import { DEFAULT_KEEP_DAYS, MIRROR_FORMATS, MIRROR_RESOURCES } from "../sync/options.ts";
import { flagTable, type Syntax } from "./arguments.ts";
import {
  DEFAULT_EXPIRES,
  downloadFlags,
  EXPIRES_FORM,
  FILTER_FLAGS,
  ONLINE_FLAGS,
  QUALITY_FLAG,
  QUERY_FLAGS,
  RESOURCE_COMMANDS,
  ROW_RULE_FLAGS,
  SANDBOX_FLAG,
  SERVICE_FLAGS,
  TYPE_FLAGS,
  VALUE_FIELDS,
} from "./flags.ts";

/** Functions of `command_functions.ts`. Importing their types from there would be a cycle. */
type Runner =
  | (
    | "cite"
    | "doctor"
    | "download"
    | "printCompletion"
    | "printFields"
    | "printSignedUrl"
    | "printSummary"
  )
  | ("printUrl" | "printValues" | "serve" | "serveMcp" | "setup" | "syncMirror" | "verify");

export interface Command extends Syntax {
  summary: string;
  examples: readonly string[];
  run: Runner;
}

const RESOURCE_OPERAND = {
  name: Object.keys(RESOURCE_COMMANDS).join("|"),
  help: "the resource",
  noun: "resource",
  choices: Object.keys(RESOURCE_COMMANDS),
};
/** Copied, because only `serve` loads the modules of the server. */
const ACCESS_MODES = ["caller", "signed", "token", "public"];
const YES_FLAG = flagTable({ "--yes": "read more than 100,000 rows without asking" });
const SHELLS = ["bash", "zsh", "fish"];
const FORMAT_NAMES = Object.keys(CITATION_FORMATS);

/** In the order of the help, without the flags of every command. */
const TABLE: Readonly<Record<string, Command>> = {
  records: {
    summary: "download records, with all columns of dataset and location, meant for CSV",
    flags: downloadFlags("Records"),
    examples: [
      "weir records --characteristic pH --from 2015 --output ph.csv",
      "weir records --doi 10.25976/xxxx-xx00 --output records.csv --update",
      "weir records --filter \"MonitoringLocationType eq 'Lake/Pond'\" --select Id,ResultValue | head",
    ],
    run: "download",
  },
  observations: {
    summary: "download observations, with the Id of the location",
    flags: downloadFlags("Observations"),
    examples: [
      "weir observations --region admin.4.ca.pe --count",
      "weir observations --bbox=-64.5,45.9,-62,47.1 --format ndjson --output box.ndjson",
    ],
    run: "download",
  },
  locations: {
    summary: "download monitoring locations",
    flags: downloadFlags("Locations"),
    examples: [
      "weir locations --region hub.atlantic --output atlantic.geojson",
      "weir locations --doi 10.25976/xxxx-xx00 --select Id,Name,Latitude,Longitude",
    ],
    run: "download",
  },
  metadata: {
    summary: "download datasets: name, citation, licence, extent",
    flags: downloadFlags("Metadata"),
    examples: ["weir metadata --select DOI,DatasetName", "weir metadata --characteristic Arsenic"],
    run: "download",
  },
  sync: {
    summary:
      "keep a mirror: a folder with one file per dataset, of which only new versions are fetched",
    operand: { name: "DIR", help: "the folder, which the first run creates" },
    flags: {
      ...flagTable({
        "--resource RESOURCE":
          "observations, with files of their locations, or records (default: observations)",
        "--format FORMAT": "parquet, csv, or delta: a Delta Lake table (default: parquet)",
        "--check": "print what would be fetched, and change nothing",
      }, { resource: MIRROR_RESOURCES.map((name) => name.toLowerCase()), format: MIRROR_FORMATS }),
      ...FILTER_FLAGS,
      ...ROW_RULE_FLAGS,
      ...TYPE_FLAGS,
      ...flagTable({
        "--allow-incomplete":
          "accept another number of rows than DataStream counted, and report the difference",
        "--remove-missing": "remove the files of datasets that DataStream does not have any more",
        "--force": "fetch all datasets again, also with another query, or remove all of them",
        "--until TIME": "begin no dataset after this time of the day, such as 06:00",
        "--keep TIME":
          `keep files of older versions of a Delta table: 12h, 7d, 4w (default: ${DEFAULT_KEEP_DAYS}d)`,
        "-q, --quiet": "print only changes and errors",
      }),
      ...SERVICE_FLAGS,
    },
    examples: [
      "weir sync mirror --region admin.4.ca.pe",
      "weir sync mirror --region admin.4.ca.pe --quiet --until 06:00",
      "weir sync lake --characteristic pH --tidy --format delta",
    ],
    run: "syncMirror",
  },
  verify: {
    summary: "compare a file with its data package, or a mirror: bytes, hash, rows and columns",
    operand: { name: "FILE", help: "a file that weir wrote, beside FILE.datapackage.json; or DIR" },
    flags: {
      ...flagTable({ "--online": "also compare the versions of its datasets, in one request" }),
      ...SERVICE_FLAGS,
    },
    examples: ["weir verify ph.csv", "weir verify ph.csv --online"],
    run: "verify",
  },
  cite: {
    summary: "print the citations of the datasets that match a filter",
    flags: {
      ...FILTER_FLAGS,
      ...flagTable(
        { "--format FORMAT": `${FORMAT_NAMES.join(", ")} (default: text)` },
        { format: FORMAT_NAMES },
      ),
      ...SERVICE_FLAGS,
    },
    examples: [
      "weir cite --characteristic pH --region hub.pacific",
      "weir cite --format bibtex > references.bib",
    ],
    run: "cite",
  },
  values: {
    summary:
      "print the values of a field: the known ones, or with --live those of rows, with numbers",
    operand: {
      name: "FIELD",
      help: `one of ${Object.keys(VALUE_FIELDS).join(", ")}, or its name in files`,
      noun: "field",
      choices: [...Object.keys(VALUE_FIELDS), ...Object.values(VALUE_FIELDS)],
    },
    flags: {
      ...flagTable({
        "--search TEXT": "only values that contain a text, mean it, or are spelled like it",
        "--live": "values that occur in rows that match the filters; reads all of these rows",
      }),
      ...YES_FLAG,
      ...FILTER_FLAGS,
      ...SERVICE_FLAGS,
    },
    examples: [
      "weir values characteristic --search phosph",
      "weir values unit --live --characteristic pH --region admin.4.ca.pe",
    ],
    run: "printValues",
  },
  summary: {
    summary:
      "count results, with years, units and non-detects per group; reads all rows of the filters",
    flags: {
      ...flagTable({
        "--by GROUP":
          "characteristic, location, dataset or year (default: location and characteristic)",
        "--format FORMAT": `${
          SUMMARY_FORMATS.join(", ")
        } (default: extension of --output, else csv)`,
        "-o, --output FILE": "write to FILE when all rows are read; - is standard output",
        "--force": "replace the FILE of --output",
        "-q, --quiet": "no progress",
      }, { by: SUMMARY_KEYS, format: SUMMARY_FORMATS }),
      ...YES_FLAG,
      ...FILTER_FLAGS,
      ...QUALITY_FLAG,
      ...SERVICE_FLAGS,
    },
    examples: [
      "weir summary --region admin.4.ca.pe --by characteristic --output summary.csv",
      "weir summary --doi 10.25976/xxxx-xx00 --format ndjson | head",
    ],
    run: "printSummary",
  },
  fields: {
    summary: "print the fields for --select and --filter",
    operand: RESOURCE_OPERAND,
    flags: {},
    examples: ["weir fields records"],
    run: "printFields",
  },
  url: {
    summary: "print the encoded URL of the first request, without sending it",
    operand: RESOURCE_OPERAND,
    flags: { ...QUERY_FLAGS, ...ONLINE_FLAGS },
    examples: ["weir url records --doi 10.25976/xxxx-xx00 --select Id,ResultValue"],
    run: "printUrl",
  },
  sign: {
    summary: "print a signed download URL of the server; the secret is WEIR_SIGNING_SECRET",
    operand: { name: "URL", help: "the download URL, in single quotes" },
    flags: flagTable({ "--expires WHEN": `${EXPIRES_FORM} (default: ${DEFAULT_EXPIRES})` }),
    examples: [
      "weir sign 'https://weir.example/Records.csv?$filter=DOI eq '\\''10.25976/xxxx-xx00'\\''' --expires 30d",
    ],
    run: "printSignedUrl",
  },
  serve: {
    summary: "start a server of download URLs, with a web page that makes them",
    flags: {
      ...flagTable({
        "--host ADDRESS": "address to listen on; 0.0.0.0 is all (default: HOST, else 127.0.0.1)",
        "--port PORT": "port to listen on; 0 is any free port (default: PORT, else 8000)",
        "--access MODE": `who may download: ${ACCESS_MODES.join(", ")} (default: WEIR_ACCESS)`,
        "--mirror DIR": "folder of weir sync to serve below /mirror/ (default: WEIR_MIRROR)",
      }, { access: ACCESS_MODES }),
      ...SANDBOX_FLAG,
      ...flagTable({
        "--env-file FILE": "file with lines such as WEIR_TOKENS=…; the environment has priority",
      }),
    },
    examples: [
      "weir serve --sandbox",
      "weir serve --access public --port 8080",
      "weir serve --host 0.0.0.0 --env-file /etc/weir.env",
    ],
    run: "serve",
  },
  mcp: {
    summary: "start a server of tools for assistants, on standard input and output (MCP)",
    operand: { name: "DIR", help: "the folder in which it may write files" },
    flags: {
      ...flagTable({ "--force": "let an assistant replace files in DIR" }),
      ...SERVICE_FLAGS,
    },
    examples: ["weir mcp water", "weir mcp water --sandbox"],
    run: "serveMcp",
  },
  doctor: {
    summary: "check the key, the network, and what weir assumes about the service, in 25 requests",
    flags: {
      ...flagTable({
        "--json": "print the checks as JSON",
        "--save FILE": "write the answers to FILE, for a report: without the key",
        "--compare FILE": "also print how the answers differ from those of --save",
      }),
      ...SERVICE_FLAGS,
    },
    examples: ["weir doctor", "weir doctor --save answers.json"],
    run: "doctor",
  },
  completion: {
    summary: "print a script that completes commands, flags and values in a shell",
    operand: { name: "SHELL", help: "bash, zsh or fish", noun: "shell", choices: SHELLS },
    flags: {},
    examples: [
      "source <(weir completion bash)",
      "weir completion fish > ~/.config/fish/completions/weir.fish",
    ],
    run: "printCompletion",
  },
  setup: {
    summary: "save an API key in a file that only you can read",
    flags: flagTable({ "--force": "replace a saved key without asking" }),
    examples: ["weir setup", "weir setup --force < key.txt"],
    run: "setup",
  },
};

const COMMON_FLAGS = flagTable({
  "--debug": "print the stack of an error",
  "-h, --help": "print this help",
  "-V, --version": "print the version of weir",
});

export const COMMANDS: Readonly<Record<string, Command>> = Object.fromEntries(
  Object.entries(TABLE).map(([name, command]) => [
    name,
    { ...command, flags: { ...command.flags, ...COMMON_FLAGS } },
  ]),
);
