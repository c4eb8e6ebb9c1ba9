import { FOLDER } from "./command_line.ts";
import { runProgram } from "./programs.ts";
import { PROJECT } from "./project.ts";

/** Whether tmux is there. */
export const hasTmux: boolean = await runProgram("tmux", "-V") !== undefined;

/** A terminal of so many columns with a command in it. */
export class Terminal {
  /**
   * In the folder that goes when the test does; short, as a path of a socket must be, and its own: a
   * server on its way out takes its socket along.
   */
  readonly #socket = `${FOLDER}/${crypto.randomUUID().slice(0, 8)}`;

  async open(columns: number, environment: Record<string, string>, command: string): Promise<void> {
    const size = ["-x", String(columns), "-y", "40"];
    // Ends by itself where the test was killed and cannot end it.
    const limited = `timeout --foreground 60 sh -c ${quote(command)}`;
    const args = ["new-session", "-d", ...size, "-c", PROJECT + FOLDER, limited];
    const { success, stderr } = await new Deno.Command("tmux", {
      args: ["-S", this.#socket, "-f", "/dev/null", ...args],
      env: { ...environment, TERM: "xterm" },
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  }

  /** What is on the screen, once it shows a text. */
  async shows(text: RegExp): Promise<string> {
    for (const deadline = performance.now() + 20_000; performance.now() < deadline;) {
      const screen = (await this.#tmux("capture-pane", "-p")).trimEnd();
      if (text.test(screen)) return screen;
    }
    throw new Error(`no ${text} on the screen:\n${await this.#tmux("capture-pane", "-p")}`);
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

/** A command line for a shell, which waits when it is done. */
export const shell = (words: string[]): string =>
  `${words.map(quote).join(" ")}; echo "exit $?"; read wait`;

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
