// A file has rows of one version of its dataset, whenever it is published, except in cases that no program can see.
import { assert, assertEquals } from "@std/assert";
import { Random } from "../../properties/random.ts";
import { Download, WaitClock } from "./download.ts";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const START = Date.parse("2026-11-01T12:00:00Z");
/** Time of publication of version 1. */
const FIRST = START - 1_000 * DAY;

/** Times of publication that a dataset names, by the time at which it shows version 2. */
const TIMES = {
  right: (shown: number) => shown,
  late: (shown: number, random: Random) => shown + random.int(1, 1_440) * MINUTE,
  early: (shown: number, random: Random) => shown - random.int(10, 1_440) * MINUTE,
  unchanged: () => FIRST,
};
type Kind = keyof typeof TIMES;

/** Times (ms since 1970) at which the dataset and then its rows are those of version 2. */
interface Publication {
  shown: number;
  rows: number;
  time: number;
}

/** Serves a dataset and its rows at times that a clock shows to the service. Returns the version that was shown first. */
function serve(
  download: Download,
  { shown, rows, time }: Publication,
  size: number,
  serviceTime: () => number,
): () => string | undefined {
  let first: string | undefined;
  download.edit = ([dataset]) => {
    const [Version, published] = serviceTime() < shown ? ["1", FIRST] : ["2", time];
    first ??= Version;
    return [{ ...dataset!, Version, PublishedTimestamp: new Date(published).toISOString() }];
  };
  download.onPage = (_, { url }) => {
    const after = Number(/Id:(\d+)/.exec(decodeURIComponent(url))?.[1] ?? 0);
    const ResultValue = serviceTime() < rows ? 1 : 2;
    const value = Array.from({ length: Math.min(2, size - after) }, (_, index) => ({
      Id: after + index + 1,
      DOI: "10.25976/weir-aa00",
      ResultValue,
    }));
    const link = `${url.split("?")[0]}?$skiptoken=Id:${after + 2}`;
    return Response.json({ value, ...(after + 2 < size && { "@odata.nextLink": link }) });
  };
  return () => first;
}

const lineOf = (size: number) => `--limit=${size} --top=2`;

/** Removes all files, and writes others. */
async function replaceFiles(download: Download, files: Readonly<Record<string, string>>) {
  for (const name of Object.keys(await download.contents())) await Deno.remove(download.path(name));
  for (const [name, text] of Object.entries(files)) await download.write(name, text);
}

Deno.test("weir never writes a file of two versions in 300 random schedules when the times of publication are not too early", async () => {
  await using download = await Download.create();
  const random = new Random(44);
  const earlier: Record<number, Record<string, string>> = {};
  const never = { shown: Infinity, rows: Infinity, time: 0 };
  for (const size of [1, 4, 8]) {
    serve(download, never, size, () => START);
    await download.expect(lineOf(size));
    earlier[size] = await download.contents();
    await replaceFiles(download, {});
  }
  const results = new Set<string>();
  for (let number = 0; number < 300; number++) {
    const kind = random.pick(Object.keys(TIMES) as Kind[]);
    const shown = START + random.int(-15, 15) * MINUTE;
    const rows = shown + random.int(0, 10 * MINUTE);
    // The clocks of the service and the computer differ.
    const clock = download.clock = new WaitClock(START + random.int(-90, 90) * MINUTE);
    const skew = START - clock.now();
    const serviceTime = () => clock.now() + skew;
    const gap = random.int(1, 300) * 1_000;
    download.onRequest = () => {
      clock.advance(random.int(0, gap));
      return serviceTime();
    };
    const size = random.pick([1, 4, 8]);
    const publication = { shown, rows, time: TIMES[kind](shown, random) };
    const firstShown = serve(download, publication, size, serviceTime);
    const flag = random.pick(["", " --update"]);
    if (flag !== "") await replaceFiles(download, earlier[size]!);
    const { code, errors } = await download.run(lineOf(size) + flag);
    const place = `schedule ${number} (${kind}): ${errors.join("; ")}`;
    const found = [...(await download.text("a.csv").catch(() => "")).matchAll(/,(\d)\r\n/g)]
      .map(([, version]) => version!);
    const version = [...new Set(found)].join(" and ");
    if (code === 0 || code === 3) assertEquals(found.length, size, place);
    const isMixed = version.includes("and");
    const hasWaited = clock.waits.length > 0;
    const result = isMixed
      ? "mixed"
      : code === 3
      ? "kept"
      : code !== 0
      ? "failed"
      : hasWaited
      ? "waited"
      : "complete";
    // The dataset showed version 2, with a time that says nothing, before the first request, and its rows follow later.
    const isInvisible = firstShown() === "2" && (kind === "early" || kind === "unchanged");
    assert(!isMixed || isInvisible, place);
    assert(clock.waits.length <= 1 && clock.waits.every((time) => time <= 10 * MINUTE), place);
    if (code === 0 && !isInvisible) {
      // With an older version, --update would only download the file once more.
      const { datasets } = (await download.package()).weir;
      assert(datasets === undefined || datasets[0]![1] <= version, place);
    }
    results.add(result);
    await replaceFiles(download, {});
  }
  assertEquals([...results].sort(), ["complete", "failed", "kept", "mixed", "waited"]);
});
