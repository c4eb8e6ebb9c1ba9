import type { Arguments } from "./arguments.ts";
import { COMMANDS } from "./commands.ts";
import type { Context } from "./context.ts";
import { FILTER_FLAGS, VALUE_FIELDS } from "./flags.ts";

/** `weir values` lists their values. */
const LISTED_FLAGS = Object.keys(VALUE_FIELDS).filter((name) => name in FILTER_FLAGS);

export async function printCompletion({ operand }: Arguments, context: Context): Promise<void> {
  // The completion of bash runs in zsh too.
  const start = operand === "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  await context.print(operand === "fish" ? fishScript() : start + bashScript());
}

const FILE_COMMANDS = Object.keys(COMMANDS).filter((name) =>
  /^(FILE|DIR)$/.test(COMMANDS[name]!.operand?.name ?? "")
);

function bashFiles(name: string): string {
  return `    [[ \${COMP_WORDS[1]} == ${name} ]] && COMPREPLY+=($(compgen -f -- "$current"))\n`;
}

function bashScript(): string {
  const wordsOf = Object.entries(COMMANDS).map(([name, { operand, flags }]) => {
    const words = [...operand?.choices ?? [], ...Object.keys(flags).map((flag) => `--${flag}`)];
    return `    ${name}) words="${words.join(" ")}" ;;`;
  });
  const choices = Object.entries(COMMANDS).flatMap(([name, { flags }]) =>
    Object.entries(flags).filter(([, { choices }]) => choices).map(([flag, { choices }]) =>
      `    "${name} --${flag}") words="${choices!.join(" ")}" ;;`
    )
  );
  const listed = LISTED_FLAGS.map((flag) =>
    `    *" --${flag}") words=$(weir values ${flag} | cut -f1); listed=1 ;;`
  );
  return `_weir() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local words="" listed="" IFS=$' \\t\\n'
  case "\${COMP_WORDS[1]} $previous" in
    *" --output"|*" --cite"|*" --env-file"|*" -o") COMPREPLY=($(compgen -f -- "$current")); return ;;
${[...choices, ...listed].join("\n")}
  esac
  if [[ -z $words ]]; then
    case \${COMP_WORDS[1]} in
${wordsOf.map((line) => `  ${line}`).join("\n")}
      *) words="${Object.keys(COMMANDS).join(" ")}" ;;
    esac
  fi
  if [[ -n $listed ]]; then
    # Values can have spaces and quotes, which compgen -W would interpret.
    local value
    COMPREPLY=()
    while IFS= read -r value; do
      [[ $value == "$current"* ]] || continue
      printf -v value '%q' "$value"
      COMPREPLY+=("$value")
    done <<< "$words"
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
${FILE_COMMANDS.map(bashFiles).join("")}  fi
}
complete -F _weir weir
`;
}

function fishScript(): string {
  const names = Object.keys(COMMANDS).join(" ");
  const lines = Object.entries(COMMANDS).flatMap(([name, { operand, flags }]) => {
    const start = `complete -c weir -n '__fish_seen_subcommand_from ${name}'`;
    const operands = operand?.choices ? [`${start} -f -a '${operand.choices.join(" ")}'`] : [];
    return [
      ...operands,
      ...Object.entries(flags).map(([flag, { value, choices, letter }]) => {
        const values = LISTED_FLAGS.includes(flag) ? `(weir values ${flag})` : choices?.join(" ");
        return `${start} -l ${flag}` +
          (letter ? ` -s ${letter}` : "") + (value ? " -r" : "") +
          (values === undefined ? "" : ` -f -a '${values}'`);
      }),
    ];
  });
  return `complete -c weir -n 'not __fish_seen_subcommand_from ${names}' -f -a '${names}'\n` +
    lines.map((line) => `${line}\n`).join("");
}
