// What programs in Python must know to read CSV: for the code of the web page, of documents and of `weir mcp`.
import type { TidyType } from "./tidy.ts";
import type { ValueType } from "../odata/field_meanings.ts";

/** Types of columns that are not text. */
export const PYTHON_TYPES: Readonly<Partial<Record<ValueType | TidyType, string>>> = {
  integer: "int",
  number: "float",
  boolean: "bool",
};

/** Arguments of `pandas.read_csv()`: only an empty cell is missing, not the text `NA`, and each number is the nearest double. */
export const PANDAS_ARGUMENTS =
  'keep_default_na=False, na_values=[""], float_precision="round_trip"';
