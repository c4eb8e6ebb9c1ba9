// assertLinear() passes for linear work, and fails for quadratic and exponential work, also beside constant work.
import { assertRejects } from "@std/assert";
import { assertLinear } from "../../helpers/assert_linear.ts";

const textOf = (size: number) => `${"a".repeat(size)}b`;
/** About 0.03 ms. */
const constant = () => JSON.parse(JSON.stringify(Array(100).fill({ a: 1 })));

const linear: Record<string, (text: string) => unknown> = {
  "a regular expression that reads once": (text) => /^(?:a)*c/.test(text),
  "a sorted list": (text) => Array.from(text, (_, index) => index * 7919 % text.length).sort(),
  "constant work and a copy": (text) => [constant(), [...text].map((letter) => letter + letter)],
};
for (const [what, work] of Object.entries(linear)) {
  Deno.test(`assertLinear() passes for ${what}`, () => assertLinear(textOf, work));
}

const excessive: Record<string, (text: string) => unknown> = {
  "a regular expression that begins at each letter": (text) => /a+c/.test(text),
  "constant work and nested loops": (text) => {
    let sum = constant().length;
    for (const a of text) for (const b of text) sum += a === b ? 1 : 2;
    return sum;
  },
  "a regular expression that tries each split": (text) => /^(?:a+)+c/.test(text),
};
for (const [what, work] of Object.entries(excessive)) {
  Deno.test(`assertLinear() fails for ${what}`, async () => {
    await assertRejects(() => assertLinear(textOf, work));
  });
}
