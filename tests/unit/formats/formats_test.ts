// A row of the table of formats is enough for a format: its defaults reach the writer, the cursor and the data package.
import "../../helpers/no_permission.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ValidationError } from "../../../mod.ts";
import { toDataPackage } from "../../../src/formats/data_package.ts";
import {
  type FileFormat,
  type Format,
  FORMAT_NAMES,
  type FormatName,
  FORMATS,
} from "../../../src/formats/formats.ts";
import { loadFormat } from "../../../src/formats/load_format.ts";
import { clientOf } from "../../helpers/parquet.ts";

const tsv: Format = {
  ...FORMATS.csv,
  mediaType: "text/tab-separated-values",
  label: "TSV",
  csv: { separator: "\t", eol: "\n" },
};
const name = "test.tsv" as FormatName;
Object.assign(FORMATS, { [name]: tsv });
(FORMAT_NAMES as FileFormat[]).push(name);

Deno.test("a format has its defaults in the rows, the cursor and the data package, and other options in place of them", async () => {
  const query = clientOf(['{"Id":1,"DOI":"a"}']).records({ select: ["Id", "DOI"] });
  const read = async (csv?: { separator?: string | undefined; bom?: boolean }) => {
    const batches = await Array.fromAsync(query.batches({ format: name, csv }));
    const text = batches.map(({ data }) => new TextDecoder().decode(data)).join("");
    const described = toDataPackage({
      fileName: "a",
      resource: "Records",
      format: name,
      csv,
      columns: ["Id", "DOI"],
      created: new Date(0),
      url: query.url,
      more: {},
    });
    const { dialect, format, mediatype, schema } = described.resources[0];
    return { text, digest: batches[0]!.cursor.query, dialect, format, mediatype, schema };
  };
  const plain = await read();
  assertEquals(plain.text, '"Id"\t"DOI"\n1\ta\n');
  assertEquals([plain.dialect!.delimiter, plain.dialect!.lineTerminator], ["\t", "\n"]);
  assertEquals([plain.format, plain.mediatype], [name, "text/tab-separated-values"]);
  assertEquals(plain.schema.missingValues, [""]);
  assertEquals(await read({ separator: undefined }), plain);
  assertEquals(await read({ separator: "\t" }), plain);
  const other = await read({ separator: ";" });
  assertEquals([other.text, other.dialect!.delimiter], ['"Id";"DOI"\n1;a\n', ";"]);
  assert(other.digest !== plain.digest);
});

Deno.test("a format without options of CSV rejects them, and one without types rejects invalidValues", async () => {
  const query = clientOf([]).records();
  const csv = { header: false };
  assertThrows(() => query.bytes("json", { csv }), ValidationError, "header applies to CSV only");
  const options = { allowInvalid: true, url: query.url } as const;
  await assertRejects(
    () => loadFormat(name, options),
    ValidationError,
    "invalidValues applies to Parquet and Excel only; the format is test.tsv",
  );
  await assertRejects(
    () => loadFormat("parquet", { url: query.url, language: "fr" }),
    ValidationError,
    "language applies to Excel only; the format is parquet",
  );
  assertEquals((await loadFormat("parquet", options) as { name: string }).name, "parquet");
  assertEquals(await loadFormat(name, { ...options, allowInvalid: undefined }), name);
});

Deno.test("a data package describes a list as the format writes it", () => {
  const typeIn = (format: FileFormat) => {
    const described = toDataPackage({
      fileName: "a",
      resource: "Metadata",
      format,
      columns: ["Keywords"],
      created: new Date(0),
      url: "",
      more: {},
    });
    return described.resources[0].schema.fields[0]!.type;
  };
  const formats: FileFormat[] = ["csv", "tsv", "csv.gz", "xlsx", "ndjson", "json", "parquet"];
  assertEquals(
    formats.map(typeIn),
    [..."ssss", ..."aaa"].map((a) => a === "a" ? "array" : "string"),
  );
});
