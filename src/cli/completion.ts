// Scripts that complete commands, flags and values in a shell.
import type { Flags, Syntax } from "./arguments.ts";
import { UsageError } from "./context.ts";

/** Flags whose values `weir values` lists, and the field. */
const LISTED_FLAGS: Readonly<Record<string, string>> = {
  characteristic: "characteristic",
  region: "region",
};

/**
 * Returns the script for a shell.
 *
 * @param commands Syntax of each command by name
 * @throws {UsageError} If the shell is unknown
 */
export function completionScript(
  shell: string,
  commands: Readonly<Record<string, Syntax>>,
): string {
  if (shell === "bash") return bashScript(commands);
  // The completion of bash runs in zsh too.
  if (shell === "zsh") {
    return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`;
  }
  if (shell === "fish") return fishScript(commands);
  throw new UsageError(`Unknown shell "${shell}": use one of bash, zsh, fish`);
}

function bashScript(commands: Readonly<Record<string, Syntax>>): string {
  const flagsOf = Object.entries(commands).map(([name, { flags }]) =>
    `    ${name}) words="${Object.keys(flags).map((flag) => `--${flag}`).join(" ")}" ;;`
  );
  const choices = choicesOf(commands).map(([flag, values]) =>
    `    --${flag}) words="${values.join(" ")}" ;;`
  );
  const listed = Object.entries(LISTED_FLAGS).map(([flag, field]) =>
    `    --${flag}) words=$(weir values ${field} | cut -f1); listed=1 ;;`
  );
  return `_weir() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local words="" listed="" IFS=$' \\t\\n'
  case $previous in
    --output|--cite|--env-file|-o) COMPREPLY=($(compgen -f -- "$current")); return ;;
${[...choices, ...listed].join("\n")}
  esac
  if [[ -z $words ]]; then
    case \${COMP_WORDS[1]} in
${flagsOf.map((line) => `  ${line}`).join("\n")}
      *) words="${Object.keys(commands).join(" ")}" ;;
    esac
  fi
  if [[ -n $listed ]]; then
    # Values can have spaces.
    IFS=$'\\n'
    COMPREPLY=($(compgen -W "$words" -- "$current" | while read -r value; do printf '%q\\n' "$value"; done))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -F _weir weir
`;
}

function fishScript(commands: Readonly<Record<string, Syntax>>): string {
  const names = Object.keys(commands).join(" ");
  const lines = Object.entries(commands).flatMap(([name, { flags }]) =>
    Object.entries(flags).map(([flag, { value, choices, letter }]) => {
      const field = LISTED_FLAGS[flag];
      const values = field === undefined ? choices?.join(" ") : `(weir values ${field})`;
      return `complete -c weir -n '__fish_seen_subcommand_from ${name}' -l ${flag}` +
        (letter ? ` -s ${letter}` : "") + (value ? " -r" : "") +
        (values === undefined ? "" : ` -f -a '${values}'`);
    })
  );
  return `complete -c weir -n 'not __fish_seen_subcommand_from ${names}' -f -a '${names}'\n` +
    lines.map((line) => `${line}\n`).join("");
}

/** Returns the flags with a fixed list of values. The lists of the commands are joined. */
function choicesOf(commands: Readonly<Record<string, Syntax>>): [flag: string, values: string[]][] {
  const choices = new Map<string, Set<string>>();
  for (const { flags } of Object.values<{ flags: Flags }>(commands)) {
    for (const [flag, { choices: values = [] }] of Object.entries(flags)) {
      for (const value of values) choices.set(flag, (choices.get(flag) ?? new Set()).add(value));
    }
  }
  return [...choices].map(([flag, values]) => [flag, [...values]]);
}
