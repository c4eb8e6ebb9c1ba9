import { PROJECT } from "./project.ts";
import { runProgram } from "./programs.ts";

/** A public name, and what it stands for. */
export interface PublicSymbol {
  name: string;
  declarations: { kind: string; jsDoc?: { tags?: { kind: string }[] } }[];
}

/** What an entry exports, as `deno doc` has it. */
export async function publicSymbols(entry: string): Promise<PublicSymbol[]> {
  const ran = await runProgram(Deno.execPath(), "doc", "--json", PROJECT + entry);
  const { nodes } = JSON.parse(ran!.stdout);
  const [{ symbols }] = Object.values(nodes) as [{ symbols: PublicSymbol[] }];
  return symbols;
}
