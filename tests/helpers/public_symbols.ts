import { PROJECT } from "./project.ts";
import { runProgram } from "./programs.ts";

/** An exported symbol in the output of `deno doc --json`. */
export interface PublicSymbol {
  name: string;
  declarations: {
    kind: string;
    jsDoc?: { tags?: { kind: string }[] };
    def?: {
      properties?: { name: string }[];
      methods?: { name: string }[];
      /** Type of an alias. */
      tsType?: { value: unknown };
    };
  }[];
}

/** Returns the symbols that an entry point exports. */
export async function publicSymbols(entry: string): Promise<PublicSymbol[]> {
  const result = await runProgram(Deno.execPath(), "doc", "--json", PROJECT + entry);
  const { nodes } = JSON.parse(result!.stdout);
  const [{ symbols }] = Object.values(nodes) as [{ symbols: PublicSymbol[] }];
  return symbols;
}
