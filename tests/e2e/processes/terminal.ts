import { FOLDER } from "../command_line.ts";
import { runProgram } from "../../helpers/programs.ts";
import { PROJECT } from "../../helpers/project.ts";

export const hasTmux: boolean = await runProgram("tmux", "-V") !== undefined;

/** A terminal that runs a command, in tmux. */
export class Terminal {
  /**
   * Path of the tmux server's socket, in the test's temporary folder. Short, because systems limit
   * its length. Unique, because a server removes its socket when it ends.
   */
  readonly #socket = `${FOLDER}/${crypto.randomUUID().slice(0, 8)}`;

  async open(columns: number, environment: Record<string, string>, command: string): Promise<void> {
    const size = ["-x", String(columns), "-y", "40"];
    // Limits the time of the command, in case the test is killed and cannot end it.
    const limited = `timeout --foreground 200 sh -c ${quote(command)}`;
    const args = ["new-session", "-d", ...size, "-c", PROJECT + FOLDER, limited];
    const { success, stderr } = await new Deno.Command("tmux", {
      args: ["-S", this.#socket, "-f", "/dev/null", ...args],
      env: { ...environment, TERM: "xterm" },
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  }

  /** Waits until the screen matches a pattern and returns its text. */
  async shows(text: RegExp): Promise<string> {
    for (const deadline = performance.now() + 100_000; performance.now() < deadline;) {
      const screen = (await this.#tmux("capture-pane", "-p")).trimEnd();
      if (text.test(screen)) return screen;
    }
    throw new Error(
      `The screen does not match ${text}:\n${await this.#tmux("capture-pane", "-p")}`,
    );
  }

  async type(...keys: string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  async close(): Promise<void> {
    await this.#tmux("kill-server");
  }

  async #tmux(...args: string[]): Promise<string> {
    return (await runProgram("tmux", "-S", this.#socket, ...args))?.stdout ?? "";
  }
}

/** Opens a terminal that runs a command and then prints its exit code, uses it, and closes it. */
export async function onTerminal<T>(
  columns: number,
  environment: Record<string, string>,
  command: string[],
  use: (terminal: Terminal) => Promise<T>,
): Promise<T> {
  const terminal = new Terminal();
  try {
    const shell = `${command.map(quote).join(" ")}; echo "exit $?"; read wait`;
    await terminal.open(columns, environment, shell);
    return await use(terminal);
  } finally {
    await terminal.close();
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
