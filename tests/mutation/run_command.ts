import process from "node:process";

export interface DenoResult {
  status: "passed" | "failed" | "timeout";
  output: string;
}

/** Time (ms) without output after which a command is treated as hanging. */
const IDLE_TIMEOUT = 90_000;
const TIMEOUT = 900_000;

/** Runs Deno in a folder with time limits, then kills all processes that it started. */
export async function runDeno(folder: string, args: readonly string[]): Promise<DenoResult> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // A separate process group, so that servers that tests started can be killed, too.
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
  // Remaining processes keep the output streams open.
  killGroup(child.pid);
  running.delete(child.pid);
  await reading;
  clearTimeout(idle);
  return { status: isStopped ? "timeout" : success ? "passed" : "failed", output: texts.join("") };
}

const running = new Set<number>();

/** Kills all running commands. Signals to this process do not reach their process groups. */
export function killAll(): void {
  for (const leader of running) killGroup(leader);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // All processes of the group have ended.
  }
}
