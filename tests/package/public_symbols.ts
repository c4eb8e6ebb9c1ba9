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

interface ModuleDoc {
  module_doc?: {
    /** Text before the tags. */
    doc?: string;
    tags?: { kind: string; doc?: string }[];
  };
  symbols: PublicSymbol[];
}

async function readDoc(entry: string): Promise<ModuleDoc> {
  const result = await runProgram(Deno.execPath(), "doc", "--json", PROJECT + entry);
  const { nodes } = JSON.parse(result!.stdout);
  return (Object.values(nodes) as [ModuleDoc])[0];
}

export async function publicSymbols(entry: string): Promise<PublicSymbol[]> {
  return (await readDoc(entry)).symbols;
}

/** Returns the documentation of an entry point's module, including its examples. */
export async function moduleDoc(entry: string): Promise<string> {
  const { doc = "", tags = [] } = (await readDoc(entry)).module_doc ?? {};
  const examples = tags.filter(({ kind }) => kind === "example");
  return [doc, ...examples.map(({ doc }) => doc ?? "")].join("\n\n");
}
