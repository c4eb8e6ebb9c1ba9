import { type BehaviourName, BEHAVIOURS } from "./behaviours.ts";

export type BaseUrls = Record<BehaviourName, string>;

export type BehaviourResult = { value: unknown } | { error: string };

const TIMEOUT = 15_000;

export async function runBehaviours(baseUrls: BaseUrls): Promise<Record<string, BehaviourResult>> {
  const results: Record<string, BehaviourResult> = {};
  for (const [name, behave] of Object.entries(BEHAVIOURS)) {
    results[name] = await settle(() => behave(baseUrls[name as BehaviourName]));
  }
  return results;
}

async function settle(behave: () => Promise<unknown>): Promise<BehaviourResult> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not done after ${TIMEOUT / 1000} s`)), TIMEOUT);
  });
  try {
    return { value: await Promise.race([behave(), expired]) };
  } catch (error) {
    return { error: error instanceof Error ? `${error.stack ?? error}` : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
