import type { ResourceName } from "../odata/resources.ts";
import {
  COMMON_FLAGS,
  FILTER_FLAGS,
  type Flags,
  OUTPUT_FLAGS,
  PARTITION_FLAGS,
  QUERY_FLAGS,
  SERVICE_FLAGS,
} from "./flags.ts";

/** The resources, by the names of the commands that download them. */
export const RESOURCE_COMMANDS = {
  metadata: "Metadata",
  locations: "Locations",
  observations: "Observations",
  records: "Records",
} as const satisfies Record<string, ResourceName>;

/** The name of a resource, as it is typed. */
export type ResourceCommand = keyof typeof RESOURCE_COMMANDS;

/** A command: what it takes, and its help. */
export interface CommandText {
  /** One line on what it does. */
  summary: string;
  /** What stands after the command beside flags; undefined is nothing. */
  operand?: { name: string; help: string };
  flags: Flags;
  examples: readonly string[];
}

const resources = Object.keys(RESOURCE_COMMANDS).join("|");
const large = { ...QUERY_FLAGS, ...PARTITION_FLAGS, ...OUTPUT_FLAGS, ...SERVICE_FLAGS };
const small = { ...QUERY_FLAGS, ...OUTPUT_FLAGS, ...SERVICE_FLAGS };

/** The commands in the order of the help. */
export const COMMANDS = {
  records: {
    summary: "records with all columns of dataset and location, meant for CSV",
    flags: large,
    examples: [
      "weir records --characteristic pH --from 2015 --output ph.csv",
      "weir records --doi 10.25976/xxxx-xx00 --output records.csv --resume",
      "weir records --filter \"MonitoringLocationType eq 'Lake/Pond'\" --select Id,ResultValue | head",
    ],
  },
  observations: {
    summary: "what was measured, by the Id of its location",
    flags: large,
    examples: [
      "weir observations --region admin.4.ca.pe --count",
      "weir observations --bbox=-64.5,45.9,-62,47.1 --format ndjson --output box.ndjson",
    ],
  },
  locations: {
    summary: "monitoring locations",
    flags: small,
    examples: [
      "weir locations --region hub.atlantic --output atlantic.geojson",
      "weir locations --doi 10.25976/xxxx-xx00 --select Id,Name,Latitude,Longitude",
    ],
  },
  metadata: {
    summary: "datasets: name, citation, licence, extent",
    flags: small,
    examples: ["weir metadata --select DOI,DatasetName", "weir metadata --characteristic Arsenic"],
  },
  cite: {
    summary: "how to cite the datasets that meet a filter; use of the data requires it",
    flags: {
      ...FILTER_FLAGS,
      format: { value: "FORMAT", help: "txt or json (default: txt)" },
      ...SERVICE_FLAGS,
    },
    examples: ["weir cite --characteristic pH --region hub.pacific", "weir cite --format json"],
  },
  fields: {
    summary: "what can be selected and filtered by",
    operand: { name: resources, help: "the resource" },
    flags: {},
    examples: ["weir fields records"],
  },
  url: {
    summary: "the first request's URL, encoded; nothing is sent",
    operand: { name: resources, help: "the resource" },
    flags: {
      ...QUERY_FLAGS,
      "base-url": SERVICE_FLAGS["base-url"],
      qa: SERVICE_FLAGS.qa,
    },
    examples: ["weir url records --doi 10.25976/xxxx-xx00 --select Id,ResultValue"],
  },
  sign: {
    summary: "a download URL of an edge function, signed with WEIR_SIGNING_SECRET",
    operand: { name: "URL", help: "the download URL, in single quotes" },
    flags: {
      expires: {
        value: "WHEN",
        help: "a date, as 2027-01-31, or a time from now, as 12h, 7d or 4w (default: 7d)",
      },
    },
    examples: [
      "weir sign 'https://weir.example/Records.csv?$filter=DOI eq '\\''10.25976/xxxx-xx00'\\''' --expires 30d",
    ],
  },
  setup: {
    summary: "keep an API key in a file that only you can read",
    flags: {},
    examples: ["weir setup", "weir setup < key.txt"],
  },
} as const satisfies Record<string, CommandText>;

/** The name of a command. */
export type CommandName = keyof typeof COMMANDS;

/** The flags of a command, its own and those of all. */
export function flagsOf(command: CommandName): Flags {
  return { ...COMMANDS[command].flags, ...COMMON_FLAGS };
}
