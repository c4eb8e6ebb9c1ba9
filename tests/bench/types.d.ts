// Types of the functions that the benchmarks call in packages without types of their own.

declare module "@std/csv/stringify-stream" {
  export class CsvStringifyStream extends TransformStream<Record<string, unknown>, string> {
    constructor(options: { columns: readonly string[] });
  }
}

declare module "papaparse" {
  const papaparse: {
    unparse(input: { fields: readonly string[]; data: unknown[] }): string;
  };
  export default papaparse;
}

declare module "d3-dsv" {
  export function csvFormat(rows: readonly object[], columns: readonly string[]): string;
}
