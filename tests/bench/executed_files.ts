// Counts the files of mod.ts, src/ and edge/ with a function that a CSV download of two pages
// calls. Each path runs in a process with V8 coverage; calls of a second one, which only loads the
// modules, do not count.
import { PROJECT } from "../helpers/project.ts";

/** A path, and the maximum number of its files. */
interface Path {
  limit: number;
  load: string;
  code: string;
}

const PATHS: Record<string, Path> = {
  "client.records().csv()": {
    limit: 27,
    load: `const { DataStream } = await import("{root}mod.ts");`,
    code: `
      const client = new DataStream({ apiKey: "key", baseUrl: "{service}" });
      await client.records().csv().pipeTo(new WritableStream());`,
  },
  "GET /Records.csv": {
    limit: 42,
    load: `const { createApp } = await import("{root}edge/app.ts");`,
    code: `
      const app = createApp({ apiKey: "key", baseUrl: "{service}", access: "public", maxRows: 1e6 });
      const response = await app.fetch(new Request("http://localhost/Records.csv"));
      await response.body.pipeTo(new WritableStream());`,
  },
  "weir records --output FILE": {
    limit: 47,
    // `main()` imports the functions of the commands.
    load: `const { main } = await import("{root}src/cli/main.ts");
      await import("{root}src/cli/command_functions.ts");`,
    // As a user types it: with progress and citations on standard error.
    code: `await main(["records", "--output", "{folder}/records.csv"]);`,
  },
};

const root = Deno.args.find((argument) => argument.endsWith("/")) ?? PROJECT;
const folder = await Deno.makeTempDir({ prefix: "weir-files-" });
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, answer);
const service = `http://127.0.0.1:${server.addr.port}/v1/odata/v4`;

const DATASET = {
  Id: 1,
  DOI: "10.25976/a",
  DatasetName: "A",
  Version: "1.0.0",
  PublishedTimestamp: "2024-01-01",
  Citation: "A. 2024.",
  Licence: "https://opendatacommons.org/licenses/by/1-0/",
};

/** Answers as the service does: two pages of records, their count, and the dataset that has them. */
function answer(request: Request): Response {
  const { searchParams, pathname, href } = new URL(request.url);
  if (pathname.endsWith("/Metadata")) return Response.json({ value: [DATASET] });
  if (searchParams.get("$count") === "true") return Response.json({ value: 4 });
  const isFirst = searchParams.get("$skiptoken") === null;
  const ids = isFirst ? [1, 2] : [3, 4];
  return Response.json({
    value: ids.map((Id) => ({ Id, DOI: "10.25976/a", ResultValue: 7.1 })),
    ...(isFirst && { "@odata.nextLink": `${href}&%24skiptoken=Id:2` }),
  });
}

interface Script {
  url: string;
  functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[];
}

/** Runs a program with coverage, and returns the number of calls of each function, by file. */
async function countCalls(code: string): Promise<Map<string, Map<string, number>>> {
  const names: Record<string, string> = { root: `file://${root}`, service, folder };
  const coverage = await Deno.makeTempDir({ dir: folder });
  const program = `${folder}/program.ts`;
  await Deno.writeTextFile(
    program,
    code.replace(/\{(\w+)\}/g, (text, name) => names[name] ?? text),
  );
  const config = `--config=${root}deno.json`;
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "-A", config, `--coverage=${coverage}`, program],
    env: { DATASTREAM_API_KEY: "key", DATASTREAM_BASE_URL: service },
  }).output();
  const calls = new Map<string, Map<string, number>>();
  for await (const { name } of Deno.readDir(coverage)) {
    if (!name.endsWith(".json")) continue;
    const { url, functions }: Script = JSON.parse(await Deno.readTextFile(`${coverage}/${name}`));
    const [, path] = decodeURIComponent(url).split(root);
    if (path === undefined || !/^(?:src|edge|mod\.ts)/.test(path)) continue;
    // The first function is the module itself.
    calls.set(
      path,
      new Map(
        functions.slice(1).map(({ functionName, ranges: [range] }) => [
          `${functionName} at ${range!.startOffset}`,
          range!.count,
        ]),
      ),
    );
  }
  if (calls.size === 0) throw new Error(new TextDecoder().decode(stderr));
  return calls;
}

try {
  for (const [name, { limit, load, code }] of Object.entries(PATHS)) {
    const loading = await countCalls(load);
    const running = await countCalls(`${load}\n${code}`);
    const files = [...running].filter(([path, functions]) =>
      [...functions].some(([name, count]) => count > (loading.get(path)?.get(name) ?? 0))
    ).map(([path]) => path).sort();
    console.log(`${name.padEnd(36)}${String(files.length).padStart(4)} of at most ${limit}`);
    if (Deno.args.includes("-v")) console.log(files.map((path) => `  ${path}\n`).join(""));
    if (files.length > limit) Deno.exitCode = 1;
  }
} finally {
  await server.shutdown();
  await Deno.remove(folder, { recursive: true });
}
