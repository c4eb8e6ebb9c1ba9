import { signUrl } from "../signing/signed_url.ts";
import { oneLine } from "../errors.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { UsageError } from "./usage_error.ts";

const SECONDS: Record<string, number> = { h: 3_600, d: 86_400, w: 604_800 };

/** Prints a signed download URL of an edge function. */
export async function sign({ operand, flags }: Arguments, io: Io): Promise<void> {
  const secret = io.environment("WEIR_SIGNING_SECRET")?.trim();
  if (!secret) {
    const allow = io.howToAllow("WEIR_SIGNING_SECRET");
    throw new UsageError(`No secret: set WEIR_SIGNING_SECRET${allow} to that of the server`);
  }
  const expires = readExpires(flags.get("expires")?.[0] ?? "7d", Date.now());
  const signed = await signUrl(operand ?? "", { secret, expires }).catch((error) => {
    throw new UsageError(oneLine(error));
  });
  await io.print(`${signed}\n`);
}

/** The time that a text says, in Unix seconds. */
function readExpires(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const at = count !== undefined
    ? now / 1000 + Number(count) * SECONDS[unit!]!
    : /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text) / 1000
    : NaN;
  if (Number.isNaN(at)) {
    throw new UsageError(
      `--expires is a date, as 2027-01-31, or a time from now, as 12h, 7d or 4w, got "${text}"`,
    );
  }
  if (at * 1000 <= now) throw new UsageError(`--expires is in the future, got "${text}"`);
  return Math.floor(at);
}
