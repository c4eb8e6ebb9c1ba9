// R finds the medians and the middle half of each chart of the page, from the lower and from the upper bounds.
import { assert, assertEquals } from "@std/assert";
import { createApp } from "../../../edge/app.ts";
import { createSandbox } from "../../../src/sandbox/service.ts";
import { FOLDER, testWithFiles } from "../command_line.ts";
import { runProgram } from "../../helpers/programs.ts";

const CHARTS = [
  ["Total Phosphorus, mixed forms", "1001", ""],
  ["Total Phosphorus, mixed forms", "1001", "month"],
  ["Total Phosphorus, mixed forms", "1022", ""],
  ["Escherichia coli", "1015", ""],
  ["Escherichia coli", "1071", ""],
] as const;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const toNumber = (text: string) => Number(text.replace("Inf", "Infinity"));
const hasR = (await runProgram("Rscript", "--version"))?.success;

/** Prints unit of time, number of results, and both bounds of each quartile. */
const PROGRAM = `
arguments <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(arguments[1], na.strings = "", colClasses = "character")
rows <- rows[rows$is_quality_control == "false" & !is.na(rows$ActivityStartDate) &
  rows$censoring %in% c("none", "left", "right"), ]
key <- paste(rows$unit, rows$ResultSampleFraction, rows$MethodSpeciation)
rows <- rows[key == names(which.max(table(key))), ]
time <- as.integer(if (arguments[2] == "month") substr(rows$ActivityStartDate, 6, 7) else substr(rows$ActivityStartDate, 1, 4))
lower <- as.numeric(ifelse(is.na(rows$lower), -Inf, rows$lower))
upper <- as.numeric(ifelse(is.na(rows$upper), Inf, rows$upper))
for (unit in sort(unique(time))) {
  bounds <- sapply(c(0.25, 0.5, 0.75), function(part) {
    c(quantile(lower[time == unit], part, type = 2), quantile(upper[time == unit], part, type = 2))
  })
  cat(unit, sum(time == unit), format(bounds, digits = 15, trim = TRUE), "\\n")
}`;

testWithFiles("R finds the medians and the middle half of five charts of the page", async () => {
  const { url: baseUrl, apiKey, fetch } = createSandbox({ requestsPerSecond: Infinity });
  const app = createApp({
    baseUrl,
    apiKey,
    fetch,
    requestsPerSecond: Infinity,
    access: "public",
    log() {},
  });
  const textOf = async (path: string, parameters: Record<string, string>) => {
    const response = await app.request(`${path}?${new URLSearchParams(parameters)}`);
    assertEquals(response.status, 200);
    return await response.text();
  };
  const compared: string[] = [];
  for (const [characteristic, location, by] of CHARTS) {
    const $filter = `CharacteristicName eq '${characteristic}' and LocationId eq ${location}`;
    const file = `${FOLDER}/chart.csv`;
    await Deno.writeTextFile(file, await textOf("/Observations.csv", { $filter, tidy: "true" }));
    const result = await runProgram("Rscript", "-e", PROGRAM, file, by);
    assert(result?.success, result?.stderr);
    const expected = result.stdout.trim().split("\n").map((line) => line.trim().split(" "));
    const values = await textOf("/values", { characteristic, location, by, lang: "en" });
    const medians = [
      ...values.matchAll(/, ([^,]+), median (.*), middle half (.*) to (.*), (.*) result/g),
    ];
    assertEquals(medians.length, expected.length);
    medians.forEach(([, time, median, low, high, n], i) => {
      const [unit, count, ...bounds] = expected[i]!;
      const name = by === "month" ? MONTHS[Number(unit) - 1] : unit;
      assertEquals([time, n!.replace(",", "")], [name, count]);
      [low!, median!, high!].forEach((text, part) => {
        const [lower, upper] = bounds.slice(2 * part).map(toNumber);
        const [, sign, digits] = /^(&lt;|≤|&gt;|≥|–)? ?([\d.]*)/.exec(text)!;
        compared.push(sign ?? "");
        if (sign === undefined) assertEquals([lower, upper], [Number(digits), Number(digits)]);
        else assert(lower! < upper!);
        if (sign === "&lt;" || sign === "≤") assertEquals(upper, Number(digits));
        if (sign === "&gt;" || sign === "≥") assertEquals(lower, Number(digits));
      });
    });
  }
  // Some quartiles are exact, and some below or above a limit.
  for (const sign of ["", "&lt;", "&gt;"]) assert(compared.includes(sign), sign);
}, { R: hasR });
