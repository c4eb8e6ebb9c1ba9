import { PROJECT } from "../helpers/project.ts";
import { runProgram } from "../helpers/programs.ts";

export interface PublicSymbol {
  name: string;
  declarations: {
    kind: string;
    jsDoc?: { tags?: { kind: string }[] };
    def?: {
      properties?: { name: string }[];
      methods?: { name: string }[];
      tsType?: { value: unknown };
    };
  }[];
}

export async function publicSymbols(entry: string): Promise<PublicSymbol[]> {
  const result = await runProgram(Deno.execPath(), "doc", "--json", PROJECT + entry);
  const { nodes } = JSON.parse(result!.stdout);
  return (Object.values(nodes) as [{ symbols: PublicSymbol[] }])[0].symbols;
}
