import { type BehaviourName, BEHAVIOURS } from "./behaviours.ts";

/** Where each behaviour finds its service. */
export type Addresses = Record<BehaviourName, string>;

/** What came of a behaviour. */
export type Outcome = { gave: unknown } | { failed: string };

/** A behaviour that hangs must not hold the others up. */
const LONGEST = 15_000;

/** Runs every behaviour, one after the other. */
export async function runBehaviours(addresses: Addresses): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {};
  for (const [name, behave] of Object.entries(BEHAVIOURS)) {
    outcomes[name] = await outcomeOf(() => behave(addresses[name as BehaviourName]));
  }
  return outcomes;
}

async function outcomeOf(behave: () => Promise<unknown>): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${LONGEST / 1000} s`)), LONGEST);
  });
  try {
    return { gave: await Promise.race([behave(), tooLong]) };
  } catch (error) {
    return { failed: error instanceof Error ? `${error.stack ?? error}` : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
