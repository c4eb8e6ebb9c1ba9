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
  : string extends PlaceholderName<Route> ? unknown
  : {
    [
      Name in Exclude<
        PlaceholderName<Route>,
        "method" | "url" | "baseUrl" | "headers" | "mediaType" | "data" | "request"
      >
    ]?: UrlVariable | null;
  };

/**
 * The names of a route's placeholders: `b` and `c` of `GET /a/:b{?c*}`.
 *
 * Each step that goes on ends in itself, with what was found so far, so that long routes do not run
 * into the compiler's depth.
 *
 * @typeParam Text What is read
 * @typeParam As What it is read as: a route; its path; what comes after that, which has no `:name`;
 *   the list in an expression; text without braces, for its `:name`s; the word after a colon; or
 *   anything, for its last character
 * @typeParam Found The names found so far
 * @typeParam Before What stands before the text
 */
export type PlaceholderName<
  Text extends string,
  As extends "route" | "path" | "rest" | "list" | "colons" | "word" | "last" = "route",
  Found extends string = never,
  Before extends string = "",
> = As extends "route"
  ? Text extends `${infer Scheme}://${infer Host}/${infer Path}`
    ? Scheme extends `${string}${"/" | "?" | "#" | "{"}${string}` ? PlaceholderName<Text, "path">
    : PlaceholderName<`/${Path}`, "path", PlaceholderName<Host, "rest">>
  : PlaceholderName<Text, "path">
  : As extends "path"
    ? Text extends `${infer Literal}{${infer Expression}}${infer Rest}` ? PlaceholderName<
        Rest,
        Literal extends `${string}${"?" | "#"}${string}` ? "rest"
          : Expression extends `${"?" | "&" | "#"}${string}` ? "rest"
          : "path",
        | Found
        | PlaceholderName<Literal, "colons", never, Before>
        | PlaceholderName<Expression, "list">,
        "}"
      >
    : PlaceholderName<Text, "colons", Found, Before>
  : As extends "rest"
    ? Text extends `${string}{${infer Expression}}${infer Rest}`
      ? PlaceholderName<Rest, "rest", Found | PlaceholderName<Expression, "list">>
    : Found
  : As extends "list"
    ? Text extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer List}`
      ? PlaceholderName<List, "list">
    : Text extends `${infer First},${infer Rest}`
      ? PlaceholderName<Rest, "list", Found | PlaceholderName<First, "list">>
    : Text extends `${infer Name}:${string}` ? Found | Name
    : Text extends `${infer Name}*` ? Found | Name
    : Found | Text
  : As extends "colons"
    ? Text extends `${infer Path}?${string}` ? PlaceholderName<Path, "colons", Found, Before>
    : Text extends `${infer Path}#${string}` ? PlaceholderName<Path, "colons", Found, Before>
    : Text extends `${infer Left}:${infer Right}` ? PlaceholderName<
        Right,
        "colons",
        | Found
        | (PlaceholderName<`${Before}${Left}`, "last"> extends infer Last extends string
          ? Last extends "_" | "}" | `${number}` ? never
          : Uppercase<Last> extends Lowercase<Last> ? PlaceholderName<Right, "word">
          : never
          : never),
        ":"
      >
    : Found
  : As extends "word"
    ? Text extends `${infer First}${infer Rest}`
      ? First extends "_" | `${number}` ? PlaceholderName<Rest, "word", never, `${Before}${First}`>
      : Uppercase<First> extends Lowercase<First>
        ? (Before extends "" | `${number}${string}` ? never : Before)
      : PlaceholderName<Rest, "word", never, `${Before}${First}`>
    : Before extends "" | `${number}${string}` ? never
    : Before
  : Text extends `${string}${infer Rest}` ? Rest extends "" ? Text : PlaceholderName<Rest, "last">
  : "";
