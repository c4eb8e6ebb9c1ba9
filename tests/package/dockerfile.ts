import { DockerfileParser, type Instruction, type ModifiableInstruction } from "dockerfile-ast";
import { PROJECT } from "../helpers/project.ts";

/** An instruction that copies files between stages. */
export interface CopyInstruction {
  /** Name of the stage that has the files; `undefined` for the build context. */
  from: string | undefined;
  sources: string[];
  target: string;
}

export interface Stage {
  baseImage: string;
  name: string | undefined;
  copies: CopyInstruction[];
  environment: Record<string, string>;
  /** Arguments of the last instruction by its keyword, except `ENV`, `COPY` and `HEALTHCHECK`. */
  settings: Record<string, string[]>;
  /** Words of the commands of `RUN`. */
  runs: string[][];
  entryPoint: string[] | undefined;
  healthCheck: string[] | undefined;
}

export const DOCKERFILE: string = await Deno.readTextFile(`${PROJECT}Dockerfile`);

export const STAGES: readonly Stage[] = readStages();

function readStages(): Stage[] {
  const stages: Stage[] = [];
  for (const instruction of DockerfileParser.parse(DOCKERFILE).getInstructions()) {
    const keyword = instruction.getKeyword();
    const words = instruction.getArguments().map((argument) => argument.getValue());
    if (keyword === "FROM") {
      const [baseImage, , name] = words;
      const settings = {};
      stages.push({
        ...{ baseImage: baseImage!, name, copies: [], environment: {}, settings, runs: [] },
        ...{ entryPoint: undefined, healthCheck: undefined },
      });
      continue;
    }
    addInstruction(stages.at(-1)!, keyword, words, instruction);
  }
  return stages;
}

function addInstruction(
  stage: Stage,
  keyword: string,
  words: string[],
  instruction: Instruction,
): void {
  const text = instruction.getArgumentsContent() ?? "";
  if (keyword === "COPY") {
    const flags = (instruction as ModifiableInstruction).getFlags();
    const from = flags.find((flag) => flag.getName() === "from")?.getValue() ?? undefined;
    stage.copies.push({ from, sources: words.slice(0, -1), target: words.at(-1)! });
  } else if (keyword === "ENV") {
    for (const word of words) {
      const [name, ...value] = word.split("=");
      stage.environment[name!] = value.join("=");
    }
  } else if (keyword === "RUN") {
    stage.runs.push(JSON.parse(text));
  } else if (keyword === "ENTRYPOINT") {
    stage.entryPoint = JSON.parse(text);
  } else if (keyword === "HEALTHCHECK") {
    stage.healthCheck = JSON.parse(text.slice(text.indexOf("[")));
  } else {
    stage.settings[keyword] = words;
  }
}
