// Has a type error for each exported value that is `any`, takes `any` or returns it. It is compiled only.
import type * as mod from "@weir/datastream";
import type * as cli from "@weir/datastream/cli";
import type * as cloudflare from "@weir/datastream/cloudflare";
import type * as denoKv from "@weir/datastream/deno-kv";
import type * as edge from "@weir/datastream/edge";
import type * as builder from "@weir/datastream/endpoint";
import type * as node from "@weir/datastream/node";
import type * as sandbox from "@weir/datastream/sandbox";
import type * as serve from "@weir/datastream/serve";

type IsAny<T> = 0 extends 1 & T ? true : false;

/** `true` if the type, or that of a member, is `any`. */
type InMembers<T> = IsAny<T> | { [Name in keyof T]: IsAny<T[Name]> }[keyof T];

/** `true` if the type, a parameter, a result, or one of their members is `any`. */
type HasAny<T> = IsAny<T> extends true ? true
  : T extends (...args: infer Parameters) => infer Result
    ? InMembers<Parameters[number]> | InMembers<Awaited<Result>>
  : T extends abstract new (...args: infer Parameters) => infer Instance
    ? InMembers<Parameters[number]> | Calls<Instance>
  : InMembers<T>;

/** `true` if a method takes or returns `any`. */
type Calls<T> = {
  [Name in keyof T]: T[Name] extends (...args: infer Parameters) => infer Result
    ? IsAny<Parameters[number]> | IsAny<Awaited<Result>>
    : IsAny<T[Name]>;
}[keyof T];

/** Names of the exported values that have `any`. */
type NamesWithAny<Module> = {
  [Name in keyof Module]: true extends HasAny<Module[Name]> ? Name : never;
}[keyof Module];

/** Values with `any` of each entry point. The error message of the compiler has their names. */
export type Found = [
  NamesWithAny<typeof mod>,
  NamesWithAny<typeof cli>,
  NamesWithAny<typeof denoKv>,
  NamesWithAny<typeof edge>,
  NamesWithAny<typeof builder>,
  NamesWithAny<typeof node>,
  NamesWithAny<typeof sandbox>,
  NamesWithAny<typeof serve>,
  NamesWithAny<typeof cloudflare>,
];

declare const found: Found;
const none: [never, never, never, never, never, never, never, never, never] = found;
void none;

/** Shows that these types detect `any`. */
declare const planted: NamesWithAny<{
  // deno-lint-ignore no-explicit-any
  value: any;
  // deno-lint-ignore no-explicit-any
  takes(value: any): void;
  // deno-lint-ignore no-explicit-any
  resolves(): Promise<any>;
  // deno-lint-ignore no-explicit-any
  returnsMember(): { name: any };
  // deno-lint-ignore no-explicit-any
  Class: new () => { method(): any };
  fine(value: unknown): string;
}>;
type All = "value" | "takes" | "resolves" | "returnsMember" | "Class";
const detected: [All] extends [typeof planted] ? typeof planted : never = planted;
const all: All = detected;
void all;
