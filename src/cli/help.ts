import { KEY_SOURCE } from "../service_roots.ts";
import { type CommandName, COMMANDS, type CommandText, flagsOf } from "./commands.ts";
import type { Flags } from "./flags.ts";

/** The help of the whole program. */
export function programHelp(): string {
  const names = Object.keys(COMMANDS) as CommandName[];
  return `weir: Canada's open water-quality data from the DataStream service

  weir COMMAND [flags]

${table(names.map((name) => [name, COMMANDS[name].summary]))}

  weir help COMMAND, or --help after it, lists its flags. --version prints the version.

The API key is read from the environment variable DATASTREAM_API_KEY, else from the file that
weir setup writes. Ask for one at ${KEY_SOURCE}.
To try without one: weir records --sandbox --limit 5

Deno, Bun, Node 24.14 or later, and with NODE_USE_ENV_PROXY=1 also Node 22.21 or later use the
proxy of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Older versions of Node ignore it.

Exit codes: 0 whole, 1 a fault, 2 a wrong command line, 130 interrupted.
`;
}

/** The help of a command. */
export function commandHelp(name: CommandName): string {
  const { summary, operand, examples }: CommandText = COMMANDS[name];
  return `weir ${name}: ${summary}

  weir ${name}${operand ? ` ${operand.name}` : ""} [flags]

${
    table(
      Object.entries(flagsOf(name) as Flags).map(([flag, { value, help, letter }]) => [
        `${letter ? `-${letter}, ` : ""}--${flag}${value ? ` ${value}` : ""}`,
        help,
      ]),
    )
  }

${examples.map((example) => `  ${example}`).join("\n")}
`;
}

/** Two columns, the second in line. */
function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 3;
  return rows.map(([first, second]) => `  ${first.padEnd(width)}${second}`).join("\n");
}
