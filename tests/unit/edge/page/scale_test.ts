// Scales have ticks at round numbers around all values.
import "../../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { chart, row, ticksOf } from "./drawings.ts";

const scales: [low: string, high: string, ticks: string[]][] = [
  ["1", "51", ["1", "2", "5", "10", "20", "50", "100"]],
  ["1", "49", ["0", "10", "20", "30", "40", "50"]],
  ["6.8", "8.6", ["6.5", "7", "7.5", "8", "8.5", "9"]],
  ["0", "900", ["0", "200", "400", "600", "800", "1,000"]],
  ["7", "7", ["6", "8"]],
  ["1e-9", "1", ["1E-10", "1E-8", "1E-6", "0.0001", "0.01", "1"]],
  // The logarithm of the first number rounds up to -1.
  ["0.09999999999999999", "20", ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]],
  ["-9e299", "1e-299", ["-1E300", "-8E299", "-6E299", "-4E299", "-2E299", "0"]],
  // Closer ticks would have equal labels.
  ["1e12", "1000000000001", ["1E12", "1.00002E12"]],
];
for (const [low, high, ticks] of scales) {
  Deno.test(`drawChart() has the ticks ${ticks.join(", ")} when values are from ${low} to ${high}`, async () => {
    const html = await chart([row(low), row(high)]);
    assertEquals(ticksOf(html), ticks);
    assertEquals(/NaN|Infinity/.test(html), false);
  });
}
