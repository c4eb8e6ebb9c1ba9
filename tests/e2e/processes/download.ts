// The command line in this process, against a service that a test can make fail.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createSandbox } from "../../../src/sandbox/service.ts";
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
  environment: { DATASTREAM_API_KEY: "sandbox" },
};

/**
 * Reads what a command line has instead of the words of `DOWNLOAD`: another command, flags (`--limit=13`), flags that are
 * left out (`!quiet`), and variables (`DATASTREAM_API_KEY=another`).
 */
function parse(line: string) {
  let { command } = DOWNLOAD;
  const flags: Record<string, string> = { ...DOWNLOAD.flags };
  const environment: Record<string, string> = { ...DOWNLOAD.environment };
  for (const word of line.split(/ (?=--|!|[A-Z_]+=)/).filter(Boolean)) {
    const [, mark, name, value = ""] = /^(--|!|)([\w-]+)=?(.*)$/s.exec(word)!;
    if (mark === "--") flags[name!] = value;
    else if (mark === "!") delete flags[name!];
    else if (value) environment[name!] = value;
    else command = name!;
  }
  return { command, flags, environment };
}

/** A dataset as the service describes it. */
export type Dataset = Record<string, unknown> & { DOI: string };

/** The command line in this process, with a temporary folder and a fake service. */
export class Download implements AsyncDisposable {
  /** Requests of rows so far. */
  pages = 0;
  /** Called before a request of rows is answered, with its number from 1; the next run starts at 1. */
  onPage: (number: number) => Response | void | Promise<Response> = () => {};
  /** Decoded URLs of the requests of datasets. */
  metadata: string[] = [];
  /** Changes the datasets that the service returns. */
  edit: (datasets: Dataset[]) => Dataset[] = (datasets) => datasets;
  /** Version and time of the first dataset; `undefined` for those of the sandbox. */
  version: string | undefined;
  published: string | undefined;
  /** Answers requests of dataset versions instead of the sandbox. */
  metadataError: (() => Response | undefined) | undefined;
  readonly #fetch = globalThis.fetch;

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
      const answer = () => sandbox.fetch(new Request(request, { headers }));
      if (/Metadata/.test(request.url)) {
        this.metadata.push(decodeURIComponent(request.url).replace(BASE_URL, ""));
        const failure = this.metadataError?.();
        request.signal.throwIfAborted();
        if (failure !== undefined) return failure;
        const { value } = await (await answer()).json();
        if (this.version !== undefined) value[0].Version = this.version;
        if (this.published !== undefined) value[0].PublishedTimestamp = this.published;
        return Response.json({ value: this.edit(value) });
      }
      if (/count=/.test(request.url)) return await answer();
      const replaced = await this.onPage(++this.pages);
      request.signal.throwIfAborted();
      return replaced ?? await answer();
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

  /** Runs a download to `a.csv`. */
  run(line = "", more: readonly string[] = [], signal?: AbortSignal): Promise<RunResult> {
    this.pages = 0;
    const { command, environment, flags } = parse(line);
    const words = Object.entries(flags)
      .map(([name, value]) => value === "" ? `--${name}` : `--${name}=${value}`);
    const output = more.some((flag) => flag.startsWith("--output"))
      ? []
      : [`--output=${this.folder}/a.csv`];
    return weir([command, ...words, ...output, ...more], {
      environment,
      ...(signal && { signal }),
    });
  }

  /** Runs a download whose second page is an error. */
  async break(line = ""): Promise<void> {
    // A download in a box first requests the locations.
    this.failAt(line.includes("--bbox") ? 3 : 2);
    const { code, errors } = await this.run(line);
    assertEquals(code, 1, errors.join("\n"));
    assertStringIncludes(errors.join(), "rows: run the same command with --resume to continue");
    assert((await this.files())["a.csv.part"], "The part has no rows");
    this.onPage = () => {};
  }

  /** Answers a request of rows, by its number in a run, with an error. */
  failAt(page: number): void {
    this.onPage = (number) => number === page ? new Response("", { status: 404 }) : undefined;
  }

  /** Aborts a download, as a signal does, at a request of rows. */
  interrupt(page: number, more: readonly string[] = []): Promise<RunResult> {
    const stop = new AbortController();
    this.onPage = (number) => number === page ? stop.abort(new Error("interrupted")) : undefined;
    return this.run("", more, stop.signal);
  }

  write(name: string, text: string): Promise<void> {
    return Deno.writeTextFile(`${this.folder}/${name}`, text);
  }

  /** Returns the texts of the files in the folder by name, sorted, except the record of a finished file. */
  async files(): Promise<Record<string, string>> {
    const names = (await Array.fromAsync(Deno.readDir(this.folder))).map(({ name }) => name)
      .filter((name) => name !== "a.csv.datapackage.json").sort();
    const texts = names.map(async (
      name,
    ) => [name, await Deno.readTextFile(`${this.folder}/${name}`)]);
    return Object.fromEntries(await Promise.all(texts));
  }

  async names(): Promise<string[]> {
    return Object.keys(await this.files());
  }
}
