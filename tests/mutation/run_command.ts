import process from "node:process";

/** Result of a command. */
export interface CommandResult {
  status: "passed" | "failed" | "timeout";
  output: string;
}

/** Time (ms) without output after which a command is treated as hanging. */
const IDLE_TIMEOUT = 90_000;
/** Time (ms) after which a command is stopped in any case. */
const TIMEOUT = 900_000;

/**
 * Runs `deno` in a folder until it ends, or until it hangs. All processes that it started are
 * killed then.
 */
export async function runDeno(folder: string, args: readonly string[]): Promise<CommandResult> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // A process group of its own, which can be killed with all servers that tests left behind.
    detached: true,
  }).spawn();
  running.add(child.pid);
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    killGroup(child.pid);
  };
  const total = setTimeout(stop, TIMEOUT);
  let idle = setTimeout(stop, IDLE_TIMEOUT);
  const texts = ["", ""];
  const readAll = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>, index: number) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      texts[index] += text;
      clearTimeout(idle);
      idle = setTimeout(stop, IDLE_TIMEOUT);
    }
  };
  const reading = Promise.all([readAll(child.stdout, 0), readAll(child.stderr, 1)]);
  const { success } = await child.status;
  clearTimeout(total);
  // What the command left behind would hold its output open.
  killGroup(child.pid);
  running.delete(child.pid);
  await reading;
  clearTimeout(idle);
  return {
    status: isStopped ? "timeout" : success ? "passed" : "failed",
    output: texts.join(""),
  };
}

/** Leaders of the process groups that run. */
const running = new Set<number>();

/** Kills all processes of the commands that run: a signal to this process does not reach them. */
export function killAll(): void {
  for (const leader of running) killGroup(leader);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // All have ended.
  }
}
