/** What can fill a placeholder, beside null and undefined, which leave it empty. */
export type UrlVariable =
  | string
  | number
  | bigint
  | boolean
  | Date
  | readonly (string | number | bigint | boolean | Date | null | undefined)[]
  | { readonly [key: string]: string | number | bigint | boolean | Date | null | undefined };

/**
 * The placeholders of a route that the compiler knows, each optional, as RFC 6570 has it; of any
 * other route none.
 *
 * @typeParam Route The route, a literal
 */
export type RouteVariables<Route extends string> = string extends Route ? unknown
  : { [Name in PlaceholderName<Route>]?: UrlVariable | null };

/**
 * The names of a route's placeholders: `b` and `c` of `GET /a/:b{?c*}`.
 *
 * @typeParam Text What is read
 * @typeParam As What it is read as: a whole template; the list in an expression; a path, for its
 *   `:name`s; the word after a colon; or anything, for its last character
 * @typeParam Before What stands before it
 */
export type PlaceholderName<
  Text extends string,
  As extends "template" | "list" | "path" | "word" | "last" = "template",
  Before extends string = "",
> = As extends "template" ? Text extends `${infer Literal}{${infer Expression}}${infer Rest}` ?
      | PlaceholderName<Literal, "path", Before>
      | PlaceholderName<Expression, "list">
      | PlaceholderName<Rest, "template", "}">
  : PlaceholderName<Text, "path", Before>
  : As extends "list"
    ? Text extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer List}`
      ? PlaceholderName<List, "list">
    : Text extends `${infer First},${infer Rest}`
      ? PlaceholderName<First, "list"> | PlaceholderName<Rest, "list">
    : Text extends `${infer Name}*` ? Name
    : Text extends `${infer Name}:${string}` ? Name
    : Text
  : As extends "path"
    ? Text extends `${infer Path}${"?" | "#"}${string}` ? PlaceholderName<Path, "path", Before>
    : Text extends `${infer Left}:${infer Right}` ?
        | (PlaceholderName<`${Before}${Left}`, "last"> extends infer Last extends string
          ? Last extends "_" | "}" | `${number}` ? never
          : Uppercase<Last> extends Lowercase<Last> ? PlaceholderName<Right, "word">
          : never
          : never)
        | PlaceholderName<Right, "path", ":">
    : never
  : As extends "word"
    ? Text extends `${infer First}${infer Rest}`
      ? First extends "_" | `${number}` ? PlaceholderName<Rest, "word", `${Before}${First}`>
      : Uppercase<First> extends Lowercase<First>
        ? (Before extends "" | `${number}${string}` ? never : Before)
      : PlaceholderName<Rest, "word", `${Before}${First}`>
    : Before extends "" | `${number}${string}` ? never
    : Before
  : Text extends `${string}${infer Rest}` ? Rest extends "" ? Text : PlaceholderName<Rest, "last">
  : "";
