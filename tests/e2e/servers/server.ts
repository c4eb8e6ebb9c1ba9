import { groupCommand, killGroup } from "../../helpers/programs.ts";
import { waitFor } from "../wait_for.ts";

/** A server in a separate process. */
export interface Server extends AsyncDisposable {
  pid: number;
  /** URL of the server without a trailing slash. */
  root: string;
  /** Returns the text on standard output and standard error so far. */
  log(): string;
  /** Sends a signal to the process. */
  signal(name: Deno.Signal): void;
  /** Resolves to the exit code when the process has ended and its output was read. */
  exitCode: Promise<number>;
}

export interface ServerOptions {
  program: string;
  args: string[];
  /** Working folder. Default: a temporary folder. */
  folder?: string;
  /** Texts of files in the temporary folder, by name. */
  files?: Record<string, string>;
  environment?: Record<string, string>;
  /** Whether the server gets no other environment variables. Default false */
  clearEnv?: boolean;
  /** Matches the output of the server when it listens; the group is the port. Or its port. */
  port: RegExp | number;
}

/**
 * Starts a server and waits until it listens on a free port. It is ended with the processes that it started:
 * `npx` does not end its program when it is killed.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { program, args, files = {}, environment, clearEnv = false, port } = options;
  const temporary = await Deno.makeTempDir({ prefix: "weir-servers-" });
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${temporary}/${name}`, text);
  }
  const child = groupCommand(program, {
    args,
    cwd: options.folder ?? temporary,
    env: { ...environment, NO_COLOR: "1" },
    clearEnv,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  const read = async (output: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of output.pipeThrough(new TextDecoderStream())) printed += text;
  };
  let hasEnded = false;
  const ended = Promise.all([child.status, read(child.stdout), read(child.stderr)])
    .then(([{ code }]) => {
      hasEnded = true;
      return code;
    });
  const stop = async () => {
    if (!hasEnded) await killGroup(child);
    await ended;
    await Deno.remove(temporary, { recursive: true });
  };
  try {
    const found = await waitFor(
      async () => {
        if (hasEnded) throw new Error(`${program} has ended with ${await ended}: ${printed}`);
        if (port instanceof RegExp) return port.exec(printed)?.[1];
        const response = await fetch(`http://127.0.0.1:${port}`).catch(() => undefined);
        await response?.body?.cancel();
        return response && port;
      },
      `the port of ${program}`,
    );
    return {
      pid: child.pid,
      root: `http://127.0.0.1:${found}`,
      log: () => printed,
      signal: (name) => child.kill(name),
      exitCode: ended,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function connect({ root }: Pick<Server, "root">): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(root);
  return await Deno.connect({ hostname, port: Number(port) });
}

/** Sends the text of a request over a connection of its own, and returns the response as text. */
export async function sendRaw(server: Pick<Server, "root">, request: string): Promise<string> {
  using connection = await connect(server);
  await connection.write(new TextEncoder().encode(request));
  return await new Response(connection.readable).text();
}
