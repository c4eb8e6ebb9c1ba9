// Types of the @std modules, which their npm build lacks. The specifiers are those of the sources,
// which resolve to the original modules on JSR.

declare module "@std/assert" {
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): void;
  export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
  export function assertThrows<E extends Error = Error>(
    fn: () => unknown,
    ErrorClass: abstract new (...args: never[]) => E,
    msgIncludes?: string,
  ): E;
  export function assertRejects(fn: () => PromiseLike<unknown>): Promise<unknown>;
  export function assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    ErrorClass: abstract new (...args: never[]) => E,
    msgIncludes?: string,
  ): Promise<E>;
}

declare module "@std/csv/parse" {
  export function parse(
    input: string,
    options?: { separator?: string; lazyQuotes?: boolean },
  ): string[][];
}

declare module "@std/csv/stringify" {
  export function stringify(
    data: readonly (readonly unknown[])[],
    options?: { separator?: string },
  ): string;
}

declare module "@std/http/negotiation" {
  export function accepts(request: Pick<Request, "headers">): string[];
  export function accepts(
    request: Pick<Request, "headers">,
    ...types: string[]
  ): string | undefined;
  export function acceptsLanguages(
    request: Pick<Request, "headers">,
    ...languages: string[]
  ): string | undefined;
}

declare module "@std/semver" {
  export interface SemVer {
    major: number;
    minor: number;
    patch: number;
    prerelease?: (string | number)[];
    build?: string[];
  }
  export function tryParse(value: string): SemVer | undefined;
  export function compare(version1: SemVer, version2: SemVer): -1 | 0 | 1;
}

declare module "@std/yaml/parse" {
  export function parse(content: string): unknown;
}
