import { createQuery } from "../client/create_query.ts";
import { toService } from "../client/options.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import { baseUrlOf, readQuery, readResource } from "./query_flags.ts";
import { told } from "./usage_error.ts";

/** Prints the URL of a query's first request; nothing is sent, and no key is needed. */
export async function url({ operand, flags }: Arguments, io: Io): Promise<void> {
  const resource = readResource(operand);
  const { url } = told(() => {
    const service = toService({ baseUrl: baseUrlOf(flags, io) });
    return createQuery(resource, readQuery(resource, flags), service);
  });
  await io.print(`${url}\n`);
}
