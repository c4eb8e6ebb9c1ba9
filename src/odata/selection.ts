import type { Field, ResourceName, Row } from "./resources.ts";

/**
 * What to select: a list of fields, or a text of fields separated by commas.
 *
 * @typeParam R The resource, whose fields an editor offers; any name is taken here, and held against
 *   the resource by `FittingSelection`
 */
export type Selection<R extends ResourceName> =
  | readonly (Field<R> | (string & Record<never, never>))[]
  | string;

/** A name without the spaces around it. */
export type Trim<T extends string> = T extends ` ${infer Rest}` | `${infer Rest} ` ? Trim<Rest> : T;

/** The names in a text of names separated by commas. */
export type Names<T extends string> = T extends `${infer First},${infer Rest}`
  ? Trim<First> | Names<Rest>
  : Trim<T>;

/** The fields that a selection names; of a text that is not literal, none is known. */
export type SelectedField<S> = S extends readonly (infer F)[] ? F
  : S extends string ? string extends S ? never : Names<S>
  : never;

/**
 * What the compiler holds a selection against: itself where the resource has all its fields, else
 * what names the wrong ones.
 *
 * @typeParam R The resource
 * @typeParam S The selection
 */
export type FittingSelection<R extends ResourceName, S> = SelectedField<S> extends Field<R> ? S
  : S extends string ? { [F in Exclude<Names<S>, Field<R>>]: `is no field of ${R}` }
  : readonly Field<R>[];

/**
 * A row with the fields selected; each may be missing where the selection is no literal.
 *
 * @typeParam R The resource
 * @typeParam S The selection; undefined is all fields
 */
export type SelectedRow<R extends ResourceName, S> = S extends undefined ? Row<R>
  : string extends S ? Partial<Row<R>>
  : S extends readonly unknown[]
    ? number extends S["length"] ? Partial<Pick<Row<R>, SelectedField<S> & Field<R>>>
    : Pick<Row<R>, SelectedField<S> & Field<R>>
  : Pick<Row<R>, SelectedField<S> & Field<R>>;

/** The fields of a selection; of a text, the names between its commas. */
export function parseSelect(select: readonly string[] | string): string[] {
  return typeof select === "string" ? select.split(",").map((name) => name.trim()) : [...select];
}
