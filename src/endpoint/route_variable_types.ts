/** Value of a placeholder. Null and undefined leave the placeholder empty. */
export type UrlVariable =
  | string
  | number
  | bigint
  | boolean
  | Date
  | readonly (string | number | bigint | boolean | Date | null | undefined)[]
  | { readonly [key: string]: string | number | bigint | boolean | Date | null | undefined };

/** Names of the options that `endpoint` reads itself; they are not parameters. */
export const RESERVED_OPTIONS = [
  "method",
  "url",
  "baseUrl",
  "headers",
  "mediaType",
  "data",
  "request",
] as const;

/** @internal */
type ReservedOption = typeof RESERVED_OPTIONS[number];

/**
 * Parameters of a route: one for each placeholder, all optional (RFC 6570, section 3.2.1). Unknown
 * if the compiler knows the route only as a `string`.
 *
 * @typeParam Route The route, a string literal
 */
export type RouteVariables<Route extends string> = string extends Route ? unknown
  : string extends PlaceholderName<Route> ? unknown
  : {
    [Name in Exclude<PlaceholderName<Route>, ReservedOption>]?: UrlVariable | null;
  };

/**
 * Names of the placeholders of a route: `b` and `c` of `GET /a/:b{?c*}`.
 *
 * @typeParam Route The route, a string literal
 */
export type PlaceholderName<Route extends string> = Exclude<
  ExpressionName<Route> | ColonName<PathOf<BeforeQuery<Route>>>,
  ""
>;

// The types below call themselves last and pass on the names found so far: TypeScript then allows
// 1,000 steps instead of 50.

/**
 * Names in the expressions of a template: `a` and `b` of `/{a}{?b}`.
 *
 * @internal
 */
type ExpressionName<Template extends string, Found extends string = never> = Template extends
  `${string}{${infer Expression}}${infer Rest}`
  ? ExpressionName<Rest, Found | VariableName<WithoutOperator<Expression>>>
  : Found;

/**
 * The list of variables of an expression: `a,b` of `?a,b`.
 *
 * @internal
 */
type WithoutOperator<Expression extends string> = Expression extends
  `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer List}` ? List : Expression;

/**
 * Names in a list of variables: `a`, `b` and `c` of `a,b:3,c*`.
 *
 * @internal
 */
type VariableName<List extends string, Found extends string = never> = List extends
  `${infer First},${infer Rest}` ? VariableName<Rest, Found | WithoutModifier<First>>
  : Found | WithoutModifier<List>;

/**
 * The name of a variable: `a` of `a:3` and of `a*`.
 *
 * @internal
 */
type WithoutModifier<Variable extends string> = Variable extends `${infer Name}:${string}` ? Name
  : Variable extends `${infer Name}*` ? Name
  : Variable;

/**
 * The part of a route before its query and fragment, which have no `:name`.
 *
 * @internal
 */
type BeforeQuery<Route extends string> = Before<Before<Before<Route, "?">, "#">, "{&">;

/** @internal */
type Before<Text extends string, Mark extends string> = Text extends
  `${infer Start}${Mark}${string}` ? Start : Text;

/**
 * The path of a URL: a host may have a port or a password, which are not a `:name`.
 *
 * @internal
 */
type PathOf<Url extends string> = Url extends `${infer Scheme}://${string}/${infer Path}`
  ? Scheme extends `${string}${"/" | "{"}${string}` ? Url : `/${Path}`
  : Url;

/**
 * Names after the colons of a path: `a` and `b` of `/:a/:b`. A colon after a letter, a digit, `_` or
 * `}` is literal text.
 *
 * @internal
 */
type ColonName<Path extends string, Found extends string = never> = Path extends
  `${infer Before}:${infer After}`
  ? ColonName<After, Before extends `${string}${WordCharacter | "}"}` ? Found : Found | Word<After>>
  : Found;

/**
 * The letters, digits and `_` at the start of a text, unless the first is a digit.
 *
 * @internal
 */
type Word<Text extends string, Found extends string = ""> = Text extends
  `${infer First}${infer Rest}`
  ? First extends WordCharacter
    ? `${Found}${First}` extends Digit ? "" : Word<Rest, `${Found}${First}`>
  : Found
  : Found;

/** @internal */
type WordCharacter = Lowercase<Letter> | Letter | Digit | "_";
/** @internal */
type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";
/** @internal */
// deno-fmt-ignore -- one line per half of the alphabet
type Letter =
  | "A" | "B" | "C" | "D" | "E" | "F" | "G" | "H" | "I" | "J" | "K" | "L" | "M"
  | "N" | "O" | "P" | "Q" | "R" | "S" | "T" | "U" | "V" | "W" | "X" | "Y" | "Z";
