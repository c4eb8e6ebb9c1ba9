// Runs the command line in this process, against a service that a test can make fail.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Clock } from "../../../src/clock.ts";
import { RENEWAL } from "../../../src/files/owner.ts";
import type { FilePackage } from "../../../src/files/part_file.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { runProgram } from "../../helpers/programs.ts";
import { type RunResult, weir } from "../../helpers/run_weir.ts";

export const BASE_URL = "https://service.example/v1/odata/v4";

/** A download of three pages, without its output. */
const DOWNLOAD = {
  command: "records",
  flags: {
    "base-url": BASE_URL,
    "select": "Id,DOI,ResultValue",
    "limit": "12",
    "top": "5",
    "quiet": "",
  },
};

/**
 * Returns the words of `DOWNLOAD` after the changes in a line: another command, flags (`--limit=13`) and removed flags
 * (`!quiet`). Example: `observations --limit=13 !quiet`.
 *
 * @param folder Folder of the output files
 */
function parse(line: string, folder: string): string[] {
  let { command } = DOWNLOAD;
  const flags: Record<string, string> = { ...DOWNLOAD.flags, output: "a.csv" };
  // Values may contain spaces.
  for (const word of line.split(/ (?=--|!)/).filter(Boolean)) {
    const [, mark, name, value = ""] = /^(--|!|)([\w-]+)=?(.*)$/s.exec(word)!;
    if (mark === "--") flags[name!] = value;
    else if (mark === "!") delete flags[name!];
    else command = name!;
  }
  const words = Object.entries(flags).map(([name, value]) => {
    if (value === "") return `--${name}`;
    const isRelativePath = ["output", "cite"].includes(name) && /^[^-/]/.test(value);
    return `--${name}=${isRelativePath ? `${folder}/${value}` : value}`;
  });
  return [command, ...words];
}

/** A dataset as the service describes it. */
type Dataset = Record<string, unknown> & { DOI: string };

/** A clock whose time advances only by waits and `advance()`. The renewal of a part does not advance it. */
export class WaitClock {
  /** Times (ms) that were waited. */
  waits: number[] = [];
  #renewals: { at: number; wake: () => void }[] = [];

  constructor(private time: number = Date.parse("2026-11-01T12:00:00Z")) {}

  now = (): number => this.time;

  advance(milliseconds: number): void {
    this.time += milliseconds;
  }

  sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    const end = this.time + milliseconds;
    if (milliseconds === RENEWAL) {
      await new Promise<void>((wake, reject) => {
        this.#renewals.push({ at: end, wake });
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      return;
    }
    this.waits.push(milliseconds);
    for (let next; (next = this.#renewals.shift()) !== undefined && next.at <= end;) {
      this.time = Math.max(this.time, next.at);
      next.wake();
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.time = Math.max(this.time, end);
  };
}

/** How a run ends, and what it leaves. */
interface End {
  /** Default: 0. */
  code: number;
  /** Number of requests of rows. */
  pages: number;
  /** Sorted names of the files in the folder, except packages. */
  files: readonly string[];
  /** Number of lines on standard error. */
  messages: number;
}

/** The command line in this process, with a temporary folder and a fake service. */
export class Download implements AsyncDisposable {
  /** Requests of rows in the last run. */
  pages = 0;
  /** Number of the request of rows that is answered with an error; 0 for none. */
  failAt = 0;
  /** Number of the request of rows at which the run is interrupted; 0 for none. */
  interruptAt = 0;
  /** Called with each request of rows and its number, from 1. May return another response. */
  onPage: (number: number, request: Request) => Response | false | void = () => {};
  /** Decoded URLs of the requests of datasets. */
  metadata: string[] = [];
  /** Changes the datasets that the service returns. */
  edit: (datasets: Dataset[]) => Dataset[] = (datasets) => datasets;
  /** Whether requests of datasets are answered with an error. */
  refusesMetadata = false;
  /** Called before each request; may return the time of the service for the header `date`. */
  onRequest: () => number | undefined = () => undefined;
  /** Clock of the command line. Default: the real one. */
  clock: Clock | undefined;
  readonly #fetch = globalThis.fetch;
  #stop = new AbortController();

  private constructor(readonly folder: string) {
    const sandbox = createSandbox({
      hostileNames: true,
      records: 300,
      locations: 12,
      requestsPerSecond: Infinity,
    });
    globalThis.fetch = async (input) => {
      const request = new Request(input);
      const headers = { "x-api-key": sandbox.apiKey };
      const date = this.onRequest();
      const dated = (response: Response) => {
        if (date !== undefined) response.headers.set("date", new Date(date).toUTCString());
        return response;
      };
      const answer = async () => dated(await sandbox.fetch(new Request(request, { headers })));
      if (/Metadata/.test(request.url)) {
        this.metadata.push(decodeURIComponent(request.url).replace(BASE_URL, ""));
        if (this.refusesMetadata) return new Response("", { status: 404 });
        const { value } = await (await answer()).json();
        return dated(Response.json({ value: this.edit(value) }));
      }
      if (/count=/.test(request.url)) return await answer();
      const number = ++this.pages;
      if (number === this.interruptAt) this.#stop.abort(new Error("interrupted"));
      const replaced = this.onPage(number, request);
      request.signal.throwIfAborted();
      if (number === this.failAt) return new Response("", { status: 404 });
      return replaced || await answer();
    };
  }

  static async create(): Promise<Download> {
    await Deno.mkdir("tests/tmp", { recursive: true });
    const folder = await Deno.makeTempDir({ dir: "tests/tmp", prefix: "download_" });
    return new Download(folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    globalThis.fetch = this.#fetch;
    await Deno.remove(this.folder, { recursive: true });
  }

  /** Runs a download, to `a.csv` unless the line names another output. */
  run(line = ""): Promise<RunResult> {
    this.pages = 0;
    this.#stop = new AbortController();
    const environment = { DATASTREAM_API_KEY: "sandbox" };
    return weir(parse(line, this.folder), {
      environment,
      signal: this.#stop.signal,
      ...(this.clock && { clock: this.clock }),
    });
  }

  /**
   * Runs a download, and checks its end.
   *
   * @param says Texts that its messages must contain
   * @param expected Members of its end to compare. Default: only the exit code, which must be 0
   */
  async expect(
    line: string,
    { says = [], ...expected }: Partial<End> & { says?: readonly string[] } = {},
  ): Promise<RunResult> {
    const result = await this.run(line);
    const { code, errors } = result;
    const messages = errors.join("\n");
    const end: End = {
      code,
      pages: this.pages,
      files: await this.names(),
      messages: errors.length,
    };
    // Members that are not given equal themselves.
    assertEquals(end, { ...end, code: 0, ...expected }, `${line}: ${messages}`);
    for (const text of says) assertStringIncludes(messages, text);
    return result;
  }

  /** Runs a download whose second page fails, so that it leaves a part. */
  async break(line = ""): Promise<void> {
    this.failAt = 2;
    const { errors } = await this.expect(line, { code: 1 });
    assertMatch(errors.join(), /rows?: run the same command (?:without --force|again) to continue/);
    assert(await this.text("a.csv.part"), "The part has no rows");
    this.failAt = 0;
  }

  /** Sets the version of the first dataset, or the time of its publication, in later responses. */
  publish(changes: { Version?: string; PublishedTimestamp?: string }): void {
    this.edit = ([first, ...others]) => [{ ...first!, ...changes }, ...others];
  }

  /** Returns the texts of all files in the folder, by their names. */
  async contents(): Promise<Record<string, string>> {
    const entries = await Array.fromAsync(Deno.readDir(this.folder));
    const texts = entries.map(async ({ name }) => [name, await this.text(name)] as const);
    return Object.fromEntries(await Promise.all(texts));
  }

  path(name = "a.csv"): string {
    return `${this.folder}/${name}`;
  }

  text(name?: string): Promise<string> {
    return Deno.readTextFile(this.path(name));
  }

  write(name: string, text: string): Promise<void> {
    return Deno.writeTextFile(this.path(name), text);
  }

  /** Creates a symbolic link with `ln`: `Deno.symlink()` needs the permission to write everywhere. */
  async link(target: string, name: string): Promise<void> {
    await runProgram("ln", "-s", target, this.path(name));
  }

  /** Returns the data package of a file. */
  async package(name = "a.csv"): Promise<FilePackage> {
    return JSON.parse(await this.text(`${name}.datapackage.json`));
  }

  /** Returns the sorted names of the files in the folder, except packages. */
  async names(): Promise<string[]> {
    const entries = await Array.fromAsync(Deno.readDir(this.folder));
    return entries.map(({ name }) => name)
      .filter((name) => !name.endsWith(".datapackage.json")).sort();
  }
}
