import { childCommand } from "../../helpers/programs.ts";
import { until } from "../../helpers/until.ts";

/** A server in a process of its own. */
export interface Server extends AsyncDisposable {
  /** Its address, without a slash at the end. */
  root: string;
  /** All that it has printed so far, on either output. */
  log(): string;
}

/** How a server is started. */
export interface Start {
  program: string;
  args: string[];
  /** Where it runs. Default: a folder of its own. */
  folder?: string;
  /** The files in its own folder, by name. */
  files?: Record<string, string>;
  environment?: Record<string, string>;
  /** What it prints when it listens; the group is the port. */
  port: RegExp;
}

/** Starts a server, and waits until it listens on a port that the system chose. */
export async function startServer(start: Start): Promise<Server> {
  const { program, args, files = {}, environment, port } = start;
  const own = await Deno.makeTempDir({ prefix: "weir-servers-" });
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${own}/${name}`, text);
  }
  const child = childCommand(program, {
    args,
    cwd: start.folder ?? own,
    env: { ...environment, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  const read = async (output: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of output.pipeThrough(new TextDecoderStream())) printed += text;
  };
  let isOver = false;
  const over = Promise.all([child.status, read(child.stdout), read(child.stderr)])
    .then(() => isOver = true);
  const stop = async () => {
    if (!isOver) child.kill("SIGKILL");
    await over;
    await Deno.remove(own, { recursive: true });
  };
  try {
    const found = await until(() => {
      if (isOver) throw new Error(`${program} has ended: ${printed}`);
      return port.exec(printed)?.[1];
    }, `${program} to listen`);
    return {
      root: `http://127.0.0.1:${found}`,
      log: () => printed,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
