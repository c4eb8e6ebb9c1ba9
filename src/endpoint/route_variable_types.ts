/** Value of a placeholder. Null and undefined leave the placeholder empty. */
export type UrlVariable =
  | string
  | number
  | bigint
  | boolean
  | Date
  | readonly (string | number | bigint | boolean | Date | null | undefined)[]
  | { readonly [key: string]: string | number | bigint | boolean | Date | null | undefined };

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

/** @internal `a` and `b` of `/{a}{?b}`. */
type ExpressionName<Template extends string, Found extends string = never> = Template extends
  `${string}{${infer Expression}}${infer Rest}`
  ? ExpressionName<Rest, Found | VariableName<WithoutOperator<Expression>>>
  : Found;

/** @internal `a,b` of `?a,b`. */
type WithoutOperator<Expression extends string> = Expression extends
  `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer List}` ? List : Expression;

/** @internal `a`, `b` and `c` of `a,b:3,c*`. */
type VariableName<List extends string, Found extends string = never> = List extends
  `${infer First},${infer Rest}` ? VariableName<Rest, Found | WithoutModifier<First>>
  : Found | WithoutModifier<List>;

/** @internal `a` of `a:3` and of `a*`. */
type WithoutModifier<Variable extends string> = Variable extends `${infer Name}:${string}` ? Name
  : Variable extends `${infer Name}*` ? Name
  : Variable;

/** @internal Query and fragment have no `:name`. */
type BeforeQuery<Route extends string> = Before<Before<Before<Route, "?">, "#">, "{&">;

/** @internal */
type Before<Text extends string, Mark extends string> = Text extends
  `${infer Start}${Mark}${string}` ? Start : Text;

/** @internal A host may have a port or a password, which are not a `:name`. */
type PathOf<Url extends string> = Url extends `${infer Scheme}://${string}/${infer Path}`
  ? Scheme extends `${string}${"/" | "{"}${string}` ? Url : `/${Path}`
  : Url;

/**
 * `a` and `b` of `/:a/:b`. A colon after a letter, a digit, `_` or `}` is literal text.
 *
 * @internal
 */
type ColonName<Path extends string, Found extends string = never> = Path extends
  `${infer Before}:${infer After}`
  ? ColonName<After, Before extends `${string}${WordCharacter | "}"}` ? Found : Found | Word<After>>
  : Found;

/** @internal The letters, digits and `_` at the start, unless the first is a digit. */
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
