// Parsing, help and completion derive from this table.
import { SUMMARY_KEYS } from "../odata/resources.ts";
import { CITATION_FORMATS } from "../formats/citations.ts";
import type { Flags, Syntax } from "./arguments.ts";
import {
  DEFAULT_EXPIRES,
  downloadFlags,
  EXPIRES_FORM,
  FILTER_FLAGS,
  QUERY_FLAGS,
  RESOURCE_COMMANDS,
  ROW_RULE_FLAGS,
  SERVICE_FLAGS,
  VALUE_FIELDS,
} from "./flags.ts";

export interface Command extends Syntax {
  summary: string;
  examples: readonly string[];
  /** Name in `RUNNERS`. */
  run: string;
}

const RESOURCE_OPERAND = {
  name: Object.keys(RESOURCE_COMMANDS).join("|"),
  help: "the resource",
  noun: "resource",
  choices: Object.keys(RESOURCE_COMMANDS),
};
/** Copied, because only `serve` loads the modules of the server. */
const SERVER_ACCESS_MODES = ["caller", "signed", "token", "public"];
/** Shells with a completion script. */
const SHELLS = ["bash", "zsh", "fish"];
const { "base-url": baseUrl, qa, sandbox } = SERVICE_FLAGS;

/** In the order of the help, without the flags of every command. */
const TABLE: Readonly<Record<string, Command>> = {
  records: {
    summary: "download records, with all columns of dataset and location, meant for CSV",
    flags: downloadFlags("Records"),
    examples: [
      "weir records --characteristic pH --from 2015 --output ph.csv",
      "weir records --doi 10.25976/xxxx-xx00 --output records.csv --resume",
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
  verify: {
    summary: "compare a file with its data package: bytes, hash, rows and columns",
    operand: { name: "FILE", help: "a file that weir wrote, beside FILE.datapackage.json" },
    flags: {
      online: { help: "also compare the versions of its datasets, in one request" },
      ...SERVICE_FLAGS,
    },
    examples: ["weir verify ph.csv", "weir verify ph.csv --online"],
    run: "verify",
  },
  cite: {
    summary: "print the citations of the datasets that match a filter",
    flags: {
      ...FILTER_FLAGS,
      format: {
        value: "FORMAT",
        choices: Object.keys(CITATION_FORMATS),
        help: `${Object.keys(CITATION_FORMATS).join(", ")} (default: text)`,
      },
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
      help: `one of ${Object.keys(VALUE_FIELDS).join(", ")}`,
      noun: "field",
      choices: Object.keys(VALUE_FIELDS),
    },
    flags: {
      search: { value: "TEXT", help: "only values that contain a text, in any case" },
      live: { help: "values that occur in rows that match the filters; reads all of these rows" },
      yes: { help: "read more than 100,000 rows" },
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
      "print, as CSV, how many results there are, with years, units and non-detects per group",
    flags: {
      by: {
        value: "GROUP",
        choices: SUMMARY_KEYS,
        help: "characteristic, location, dataset or year (default: location and characteristic)",
      },
      ...FILTER_FLAGS,
      "exclude-quality-control": ROW_RULE_FLAGS["exclude-quality-control"],
      ...SERVICE_FLAGS,
    },
    examples: ["weir summary --region admin.4.ca.pe --by characteristic > summary.csv"],
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
    flags: {
      ...QUERY_FLAGS,
      "base-url": baseUrl,
      qa,
    },
    examples: ["weir url records --doi 10.25976/xxxx-xx00 --select Id,ResultValue"],
    run: "printUrl",
  },
  sign: {
    summary: "print a signed download URL of the server; the secret is WEIR_SIGNING_SECRET",
    operand: { name: "URL", help: "the download URL, in single quotes" },
    flags: {
      expires: {
        value: "WHEN",
        help: `${EXPIRES_FORM} (default: ${DEFAULT_EXPIRES})`,
      },
    },
    examples: [
      "weir sign 'https://weir.example/Records.csv?$filter=DOI eq '\\''10.25976/xxxx-xx00'\\''' --expires 30d",
    ],
    run: "printSignedUrl",
  },
  serve: {
    summary: "start a server of download URLs, with a web page that makes them",
    flags: {
      host: {
        value: "ADDRESS",
        help: "address to listen on; 0.0.0.0 is all (default: HOST, else 127.0.0.1)",
      },
      port: {
        value: "PORT",
        help: "port to listen on; 0 is any free port (default: PORT, else 8000)",
      },
      access: {
        value: "MODE",
        choices: SERVER_ACCESS_MODES,
        help: `who may download: ${SERVER_ACCESS_MODES.join(", ")} (default: WEIR_ACCESS)`,
      },
      sandbox,
      "env-file": {
        value: "FILE",
        help: "file with lines such as WEIR_TOKENS=…; the environment has priority",
      },
    },
    examples: [
      "weir serve --sandbox",
      "weir serve --access public --port 8080",
      "weir serve --host 0.0.0.0 --env-file /etc/weir.env",
    ],
    run: "serve",
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
    flags: { force: { help: "replace a saved key without asking" } },
    examples: ["weir setup", "weir setup --force < key.txt"],
    run: "setup",
  },
};

const COMMON_FLAGS = {
  debug: { help: "print the stack of an error" },
  help: { letter: "h", isList: true, help: "print this help" },
  version: { letter: "V", isList: true, help: "print the version of weir" },
} as const satisfies Flags;

export const COMMANDS: Readonly<Record<string, Command>> = Object.fromEntries(
  Object.entries(TABLE).map(([name, command]) => [
    name,
    { ...command, flags: { ...command.flags, ...COMMON_FLAGS } },
  ]),
);
