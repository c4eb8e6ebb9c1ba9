// The completion scripts complete commands, flags and values. The script of bash runs `weir` as a function of the
// shell.
import { assert, assertEquals } from "@std/assert";
import { weir } from "../../helpers/run_weir.ts";

const { output: SCRIPT } = await weir(["completion", "bash"]);

async function complete(...words: string[]): Promise<string[]> {
  const values = 'weir() { printf "2,2\\047-Bi\\npH\\nPhosphorus, total\\tP\\nChloride\\n"; }';
  const line = words.map((word) => `'${word}'`).join(" ");
  const script = `${values}\n${SCRIPT}\nCOMP_WORDS=(weir ${line}); COMP_CWORD=${words.length}\n` +
    'COMPREPLY=(); _weir; printf "%s\\n" "${COMPREPLY[@]}"';
  const { stdout, stderr } = await new Deno.Command("bash", { args: ["-c", script] }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  return new TextDecoder().decode(stdout).trimEnd().split("\n");
}

Deno.test("weir completion bash completes commands, flags and values", async () => {
  assertEquals(await complete("rec"), ["records"]);
  assertEquals(await complete("locations", "--format", "geo"), ["geojson"]);
  assertEquals(await complete("records", "--characteristic", "Ph"), ["Phosphorus\\,\\ total"]);
  assertEquals(await complete("cite", "--char"), ["--characteristic"]);
  assertEquals(await complete("values", "loc"), ["location-type"]);
  assertEquals(await complete("url", "l"), ["locations"]);
  assertEquals(await complete("completion", "b"), ["bash"]);
});

Deno.test("weir completion prints scripts for zsh and fish, and rejects other shells", async () => {
  const zsh = await weir(["completion", "zsh"]);
  assert(zsh.output.includes("bashcompinit\n") && zsh.output.endsWith(SCRIPT));
  const fish = await weir(["completion", "fish"]);
  assert(fish.output.includes("-l select -r\n"));
  assert(fish.output.includes("-l region -r -f -a '(weir values region)'\n"));
  assert(fish.output.includes("from completion' -f -a 'bash zsh fish'\n"));
  const { code, errors } = await weir(["completion", "tcsh"]);
  assertEquals([code, errors[0]], [2, 'Unknown shell "tcsh": use one of bash, zsh, fish']);
});
