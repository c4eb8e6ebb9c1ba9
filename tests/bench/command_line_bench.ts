/**
 * The command line to a file, all 44 columns, from a local service without a pace: rows a second and
 * peak memory, at 100,000, 1,000,000 and 5,000,000 rows; beside curl and jq on the same pages.
 */
import { createSandbox } from "../../src/sandbox/service.ts";

const PAGE = 10_000;
const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;

/** A service of as many rows as are asked for: one page, written once, and a link that moves on. */
async function pageService(): Promise<(request: Request) => Response> {
  const { apiKey, url, fetch } = createSandbox({ records: PAGE, requestsPerSecond: Infinity });
  const response = await fetch(`${url}/Records?%24top=${PAGE}`, {
    headers: { "x-api-key": apiKey },
  });
  const page = new Uint8Array(await response.arrayBuffer());
  const open = page.subarray(0, page.lastIndexOf("]".charCodeAt(0)));
  return (request) => {
    const { origin, pathname, searchParams } = new URL(request.url);
    const rows = Number(pathname.split("/")[1]);
    const done = Number(searchParams.get("$skiptoken")?.slice("Id:".length) ?? 0) + PAGE;
    const next = `${origin}${pathname}?$skiptoken=Id:${done}&$top=${PAGE}`;
    const end = done < rows ? `],"@odata.nextLink":"${next}"}` : "]}";
    return new Response(new Blob([open, end]), { headers: { "content-type": "application/json" } });
  };
}

interface Measured {
  seconds: number;
  peakMegabytes: number;
}

/** Runs a program, and says what it took. */
async function measure(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Measured> {
  const started = performance.now();
  const child = new Deno.Command(program, { args, env, stdout: "null", stderr: "null" }).spawn();
  let peak = 0;
  const watching = setInterval(async () => {
    const status = await Deno.readTextFile(`/proc/${child.pid}/status`).catch(() => "");
    peak = Math.max(peak, Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0));
  }, 20);
  const { success } = await child.status;
  clearInterval(watching);
  if (!success) throw new Error(`${program} failed`);
  return { seconds: (performance.now() - started) / 1000, peakMegabytes: peak * 1024 / 1e6 };
}

/** What people write by hand: a loop that follows the links, and jq that makes the lines. */
const BY_HAND = `
url=$1; : > "$2"
while [ -n "$url" ]; do
  curl --silent --fail --globoff "$url" > "$2.page" || exit 1
  jq --raw-output '.value[] | [.[]] | @csv' "$2.page" >> "$2"
  url=$(jq --raw-output '."@odata.nextLink" // empty' "$2.page")
done
rm "$2.page"`;

await using server = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  await pageService(),
);
const root = `http://127.0.0.1:${server.addr.port}`;
const folder = await Deno.makeTempDir();
const env = { DATASTREAM_API_KEY: "k", WEIR_REQUESTS_PER_SECOND: "Infinity" };

const rates: Record<string, number> = {};
const peaks: number[] = [];
console.log("what                            rows   seconds    rows/s   peak MB");
const report = (name: string, rows: number, { seconds, peakMegabytes }: Measured) => {
  rates[`${name} ${rows}`] = rows / seconds;
  const cells = [
    rows,
    seconds.toFixed(1),
    Math.round(rows / seconds),
    peakMegabytes > 0 ? Math.round(peakMegabytes) : "-",
  ];
  console.log(name.padEnd(26), ...cells.map((cell) => String(cell).padStart(9)));
};
try {
  for (const rows of [100_000, 1_000_000, 5_000_000]) {
    const file = `${folder}/${rows}.csv`;
    const args = [
      ...["run", "--quiet", "--allow-all", MAIN, "records", "--partition=never", "--quiet"],
      ...[`--base-url=${root}/${rows}`, `--output=${file}`],
    ];
    const measured = await measure(Deno.execPath(), args, env);
    report("weir records --output", rows, measured);
    peaks.push(measured.peakMegabytes);
    await Deno.remove(file);
  }
  const rows = 100_000;
  const byHand = await measure("bash", [
    "-c",
    BY_HAND,
    "bash",
    `${root}/${rows}/Records?%24top=${PAGE}`,
    `${folder}/hand.csv`,
  ]);
  // Of three programs in a pipe there is no one peak.
  report("curl and jq", rows, { ...byHand, peakMegabytes: 0 });
} finally {
  await Deno.remove(folder, { recursive: true });
}
const times = rates["weir records --output 1000000"]! / rates["curl and jq 100000"]!;
console.log(`weir writes ${times.toFixed(1)} times as many rows a second as curl and jq`);
console.log(
  `peak memory at 5,000,000 rows: ${(peaks[2]! / peaks[0]!).toFixed(2)} times that at 100,000`,
);
