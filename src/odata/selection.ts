import type { Field, ResourceName, Row } from "./resources.ts";

/**
 * Fields to select: an array, or a string with commas between the fields.
 *
 * @typeParam R Resource whose fields an editor offers. `string & Record<never, never>` is any string, but
 *   editors still offer the known names; {@linkcode FittingSelection} rejects unknown ones
 */
export type Selection<R extends ResourceName> =
  | readonly (Field<R> | (string & Record<never, never>))[]
  | string;

/**
 * Type that a selection must have: its own type if the resource has all its fields. Otherwise a type that
 * makes the compiler's error name the wrong fields.
 *
 * @typeParam R The resource
 * @typeParam S The selection
 */
export type FittingSelection<R extends ResourceName, S> = SelectedField<S> extends Field<R> ? S
  : S extends string ? { [F in Exclude<Names<S>, Field<R>>]: `is not a field of ${R}` }
  : readonly Field<R>[];

/**
 * Row with the selected fields. If the selection is not a literal, each field is optional.
 *
 * @typeParam R The resource
 * @typeParam S The selection; `undefined` for all fields
 */
export type SelectedRow<R extends ResourceName, S> = S extends undefined ? Row<R>
  : string extends S ? Partial<Row<R>>
  : S extends readonly unknown[]
    ? number extends S["length"] ? Partial<Pick<Row<R>, SelectedField<S> & Field<R>>>
    : Pick<Row<R>, SelectedField<S> & Field<R>>
  : Pick<Row<R>, SelectedField<S> & Field<R>>;

/** Fields of a selection; `never` for a string that is not a literal. */
export type SelectedField<S> = S extends readonly (infer F)[] ? F
  : S extends string ? string extends S ? never : Names<S>
  : never;

/** Names in a string, separated by commas. */
export type Names<T extends string> = T extends `${infer First},${infer Rest}`
  ? Trim<First> | Names<Rest>
  : Trim<T>;

/** Name without the spaces around it. */
export type Trim<T extends string> = T extends ` ${infer Rest}` | `${infer Rest} ` ? Trim<Rest> : T;
