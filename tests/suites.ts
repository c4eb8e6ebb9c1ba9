/** First words of each `deno test`. The packages and permissions of tests are in a configuration of their own. */
export const DENO_TEST = ["test", "--config=tests/deno.json", "--no-check"] as const;

/** Test files that run with the same flags of `deno test`. */
export interface Suite {
  /** Starts of the files' paths. */
  paths: readonly string[];
  flags: readonly string[];
  /** Whether `deno task test` without a path runs them. */
  isInGate?: boolean;
}

/** Files that measure CPU time: they run one after another, in a process of their own. */
export const isTimed = (path: string): boolean => path.endsWith("/linear_time_test.ts");

/** Unit tests that the gate leaves out: they measure time, or try each byte of a page. */
const isLong = (path: string): boolean =>
  path.startsWith("tests/unit/") &&
  (isTimed(path) || /\/(?:chunked|cut|malformed)_pages_test\.ts$/.test(path));

/** Whether a path of the command line, or the word `long`, selects a file. */
const isIn = (file: string, path: string): boolean =>
  path === "long" ? isLong(file) : file === path || file.startsWith(`${path.replace(/\/$/, "")}/`);

const SUITES: readonly Suite[] = [
  {
    paths: ["tests/unit/"],
    flags: ["--parallel", "-P"],
    isInGate: true,
  },
  { paths: ["tests/e2e/processes/"], flags: ["--parallel", "-P"] },
  { paths: ["tests/properties/"], flags: ["--parallel", "-P=none"] },
  { paths: ["tests/mutation/"], flags: ["--no-prompt", "--allow-env", "--allow-read"] },
  // They mostly wait for their servers.
  { paths: ["tests/e2e/servers/"], flags: ["--parallel", "--allow-all"] },
  // Browsers and packages in parallel would disturb each other.
  { paths: ["tests/"], flags: ["--allow-all"] },
];

/** A call of `deno test` with files that run with the same flags. */
export interface TestCommand {
  flags: readonly string[];
  files: readonly string[];
}

/** Returns the calls of `deno test` that run files: those that measure time have their own. */
export function testCommands(
  files: readonly string[],
  paths: readonly string[] = [],
): TestCommand[] {
  const commands = SUITES.map(({ paths, flags, isInGate }) => ({
    paths,
    flags,
    isInGate,
    files: [] as string[],
  }));
  for (const file of files) {
    const command = commands.find(({ paths }) => paths.some((start) => file.startsWith(start)))!;
    const isChosen = paths.length === 0
      ? command.isInGate && !isLong(file)
      : paths.some((path) => isIn(file, path));
    if (isChosen) command.files.push(file);
  }
  return commands.flatMap(({ flags, files }) => [
    { flags, files: files.filter((file) => !isTimed(file)) },
    { flags: flags.filter((flag) => flag !== "--parallel"), files: files.filter(isTimed) },
  ]).filter(({ files }) => files.length > 0);
}
