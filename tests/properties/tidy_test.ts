// The columns of `tidy` of every combination of values: one case per row, bounds in order, nothing invented.
import { assert, assertEquals } from "@std/assert";
import { createWriter } from "../../src/formats/formats.ts";
import { writePage } from "../../src/formats/page_writer.ts";

const NUMBERS = ["", "0", "-1.4", "0.050", "1.5e-3", "2419.6", "<0.05", "ND", "1,5", " ", "07"];
const VALUES: Record<string, readonly string[]> = {
  ResultValue: NUMBERS,
  ResultUnit: ["", "mg/L", "None", 'a,"b"', " "],
  ResultDetectionCondition: [
    "",
    "Below Detection/Quantification Limit",
    "Present Below Quantification Limit",
    "Not Detected",
    "Above Detection/Quantification Limit",
    "Present Above Quantification Limit",
    "Not Reported",
    "Unable to Measure",
    "Detected Not Quantified",
    "Trace",
    "Something new",
  ],
  ResultDetectionQuantitationLimitMeasure: NUMBERS,
  ResultDetectionQuantitationLimitUnit: ["", "ug/L"],
  ActivityStartDate: ["", "2024-02-29", "2023-02-29", "2023-12-31"],
  ActivityStartTime: ["", "00:15", "23:30:00", "24:00:00"],
  ActivityStartTimeZone: ["", "Z", "-06:00", "+0530", "AST", "GMT"],
  ActivityType: [
    "",
    "Sample-Routine",
    "Sample-Positive Control",
    "Quality Control Sample-Field Blank",
  ],
};
const FIELDS = Object.keys(VALUES);
const ROWS = 100_000;
const PAGE_ROWS = 10_000;
const isNumber = (text: string) => /^-?(0|[1-9]\d*)(\.\d+)?(e-?\d+)?$/.test(text);

/** The case of the decision table, the value, and the bounds, written from the table once more. */
function expected([value, unit, condition, limit, limitUnit]: readonly string[]): string[] {
  const [V, L] = [isNumber(value!), isNumber(limit!)];
  const [isBelow, isAbove] = [/^(Present )?Below |^Not Det/, /^(Present )?Above /]
    .map((pattern) => pattern.test(condition!));
  const isNone = /^Not Rep|^Unable/.test(condition!);
  const own = [value!, unit!.trim()];
  const cases: [boolean, string[]][] = [
    [V && condition === "", [...own, "none", value!, value!]],
    [V && condition !== "", [...own, "unknown", "", ""]],
    [!V && condition === "" && value!.trim() === "", ["", "", "missing", "", ""]],
    [!V && condition === "" && value!.trim() !== "", ["", "", "unknown", "", ""]],
    [!V && isNone, ["", "", "missing", "", ""]],
    [!V && isBelow! && L, [limit!, limitUnit!, "left", "", limit!]],
    [!V && isAbove! && L, [limit!, limitUnit!, "right", limit!, ""]],
    [!V && (isBelow! || isAbove!) && !L, ["", "", "unknown", "", ""]],
    [!V && condition !== "" && !isNone && !isBelow && !isAbove, ["", "", "unknown", "", ""]],
  ];
  const holding = cases.filter(([holds]) => holds);
  assertEquals(holding.length, 1);
  return holding[0]![1];
}

function timeOf([date, time, zone]: readonly string[]): string {
  const offset = zone === "+0530" ? "+05:30" : zone === "GMT" ? "Z" : zone;
  const ms = date === "2023-02-29" || time === "24:00:00" || offset === "AST" || !date || !offset
    ? NaN
    : Date.parse(`${date}T${time}${offset}`);
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString().replace(".000Z", "Z");
}

Deno.test("csv() adds one case of the rules to each of 100,000 generated rows, and changes no other column", () => {
  let state = 31;
  const next = () => {
    state = Math.imul(state, 1_664_525) + 1_013_904_223 | 0; // Numerical Recipes, LCG
    return (state >>> 8) / 2 ** 24;
  };
  const decoder = new TextDecoder();
  for (let page = 0; page < ROWS / PAGE_ROWS; page++) {
    const rows = Array.from(
      { length: PAGE_ROWS },
      () => FIELDS.map((field) => VALUES[field]![Math.floor(next() * VALUES[field]!.length)]!),
    );
    const json = rows.map((cells, id) =>
      `{"Id":${id + 1},${
        cells.map((cell, index) => {
          const value = cell === ""
            ? "null"
            : isNumber(cell) && id % 2
            ? cell
            : JSON.stringify(cell);
          return `"${FIELDS[index]}":${value}`;
        }).join()
      }}`
    );
    const bytes = new TextEncoder().encode(`{"value":[${json.join()}]}`);
    const write = (tidy: boolean) => {
      const options = { resource: "Records", select: ["Id", ...FIELDS], rules: { tidy } } as const;
      const csv = { header: false, eol: "\n", separator: "|" } as const;
      return decoder.decode(writePage(createWriter("csv", { ...options, csv }), bytes)).split("\n");
    };
    const [plain, tidy] = [write(false), write(true)];
    for (const [index, cells] of rows.entries()) {
      const [value, unit, censoring, lower, upper] = expected(cells);
      const shown = unit!.includes('"') ? `"${unit!.replaceAll('"', '""')}"` : unit;
      const isControl = /^Quality Control|Positive/.test(cells[8]!);
      const added = [value, shown, censoring, lower, upper, timeOf(cells.slice(5)), isControl];
      const line = `${plain[index]}|${added.join("|")}`;
      if (tidy[index] !== line) assertEquals(tidy[index], line);
      assert(lower === "" || upper === "" || Number(lower) <= Number(upper));
    }
  }
});
