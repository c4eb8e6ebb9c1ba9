// The parts of a workbook other than its rows (Office Open XML; ECMA-376, parts 1 and 2): styles, properties, and the sheets
// of citations and columns.
import { utf8Encoder } from "../bytes.ts";
import type { Language } from "../language.ts";
import type { EmbeddedPackage, PackageField } from "./data_package.ts";
import {
  columnName,
  escapeMarkup,
  escapeText,
  MAX_DECIMALS,
  STYLES,
  textCell,
} from "./xlsx_cells.ts";

const TEXTS = {
  en: {
    citations: "Citations",
    columns: "Columns",
    citationHeadings: ["Citation", "DOI", "Version", "Published", "Licence"],
    columnHeadings: ["Column", "Label", "Meaning", "Unit"],
    unitIn: (field: string) => `in ${field}`,
    noCitations: "No dataset is listed here. Cite each dataset whose rows you use.",
    query: "Query",
    time: "Time of the query",
    made: "Made with",
  },
  fr: {
    citations: "Citations",
    columns: "Colonnes",
    citationHeadings: ["Citation", "DOI", "Version", "Publication", "Licence"],
    columnHeadings: ["Colonne", "Libellé", "Signification", "Unité"],
    unitIn: (field: string) => `dans ${field}`,
    noCitations:
      "Aucun jeu de données n’est nommé ici. Citez chaque jeu de données dont vous utilisez des lignes.",
    query: "Requête",
    time: "Heure de la requête",
    made: "Produit par",
  },
} as const satisfies Record<Language, unknown>;

/** Path in the file of the sheet with the rows. */
export const DATA_PATH = "xl/worksheets/sheet1.xml";
const CITATIONS_PATH = "xl/worksheets/sheet2.xml";
const COLUMNS_PATH = "xl/worksheets/sheet3.xml";

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.";

/** The first part, from which programs tell the type of a file. */
export const CONTENT_TYPES: readonly [path: string, xml: string] = [
  "[Content_Types].xml",
  `${XML}<Types xmlns="${PACKAGE}/content-types">` +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  '<Default Extension="xml" ContentType="application/xml"/>' +
  [
    ["xl/workbook.xml", `${SHEET_TYPE}sheet.main+xml`],
    ...[DATA_PATH, CITATIONS_PATH, COLUMNS_PATH].map((
      path,
    ) => [path, `${SHEET_TYPE}worksheet+xml`]),
    ["xl/styles.xml", `${SHEET_TYPE}styles+xml`],
    ["docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml"],
    [
      "docProps/custom.xml",
      "application/vnd.openxmlformats-officedocument.custom-properties+xml",
    ],
  ].map(([path, type]) => `<Override PartName="/${path}" ContentType="${type}"/>`).join("") +
  "</Types>",
];

/** Facts of a complete file. */
export interface WorkbookFacts {
  language: Language;
  described: EmbeddedPackage;
  /** Names of the columns of the data. */
  names: readonly string[];
  /** Number of rows without the header. */
  rows: number;
  /** Time of the query, in ISO 8601. */
  time: string;
}

/** Returns the parts that follow the rows, with their paths. */
export function laterParts(facts: WorkbookFacts): [path: string, xml: string][] {
  const { language, described, names, rows, time } = facts;
  const texts = TEXTS[language];
  const citations = citationsSheet(described, time, texts);
  const reference = `Data!$A$1:$${columnName(names.length - 1)}$${rows + 1}`;
  const sheets = ["Data", texts.citations, texts.columns].map((name, index) =>
    `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`
  );
  return [
    [CITATIONS_PATH, citations.xml],
    ["xl/worksheets/_rels/sheet2.xml.rels", citations.relationships],
    [COLUMNS_PATH, columnsSheet(described.resources[0].schema.fields, texts)],
    ["xl/styles.xml", stylesPart()],
    [
      "xl/workbook.xml",
      `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}"><sheets>${
        sheets.join("")
      }</sheets>` +
      `<definedNames><definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">${reference}` +
      "</definedName></definedNames></workbook>",
    ],
    [
      "xl/_rels/workbook.xml.rels",
      relationshipsPart([
        ...[1, 2, 3].map((id): Relationship => ["worksheet", `worksheets/sheet${id}.xml`]),
        ["styles", "styles.xml"],
      ]),
    ],
    ["docProps/core.xml", corePart(described.title, time)],
    ["docProps/custom.xml", customPart(JSON.stringify(described))],
    [
      "_rels/.rels",
      relationshipsPart([
        ["officeDocument", "xl/workbook.xml"],
        [`${PACKAGE}/relationships/metadata/core-properties`, "docProps/core.xml"],
        ["custom-properties", "docProps/custom.xml"],
      ]),
    ],
  ];
}

/** Returns the XML of the data sheet before its first row: a frozen header, widths of columns, and the header. */
export function startOfData(
  columns: readonly (readonly [name: string, width: number])[],
): Uint8Array {
  const cells = columns.map(([name], index) => textCell(index, 1, name, STYLES.bold)).join("");
  const pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>' +
    '<selection pane="bottomLeft"/>';
  const start = startOfSheet(columns.map(([, width]) => width), pane);
  return utf8Encoder.encode(`${start}<row r="1">${cells}</row>`);
}

/** Returns the XML of the data sheet after its last row. */
export function endOfData(columns: number, rows: number): Uint8Array {
  const all = `A1:${columnName(columns - 1)}${rows + 1}`;
  // Excel marks identifiers that look like numbers as errors.
  return utf8Encoder.encode(
    `</sheetData><autoFilter ref="${all}"/>` +
      `<ignoredErrors><ignoredError sqref="${all}" numberStoredAsText="1"/></ignoredErrors></worksheet>`,
  );
}

function startOfSheet(widths: readonly number[], pane: string): string {
  const columns = widths.map((width, index) =>
    `<col min="${index + 1}" max="${index + 1}" width="${width}" customWidth="1"/>`
  );
  return `${XML}<worksheet xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}"><sheetViews>` +
    `<sheetView workbookViewId="0">${pane}</sheetView></sheetViews>` +
    `<cols>${columns.join("")}</cols><sheetData>`;
}

interface SheetCell {
  text: string;
  style: number;
  link?: string | undefined;
}

function smallSheet(
  headings: readonly string[],
  rows: readonly (readonly SheetCell[])[],
  widths: readonly number[],
): { xml: string; relationships: string } {
  const header = headings.map((text) => ({ text, style: STYLES.bold }));
  const links: [reference: string, url: string][] = [];
  const lines = [header, ...rows].map((cells: readonly SheetCell[], row) => {
    const written = cells.map(({ text, style, link }, column) => {
      if (link !== undefined) links.push([`${columnName(column)}${row + 1}`, link]);
      return textCell(column, row + 1, text, style);
    });
    return `<row r="${row + 1}">${written.join("")}</row>`;
  });
  const hyperlinks = links.map(([reference], index) =>
    `<hyperlink ref="${reference}" r:id="rId${index + 1}"/>`
  ).join("");
  return {
    xml: `${startOfSheet(widths, "")}${lines.join("")}</sheetData>` +
      `${hyperlinks && `<hyperlinks>${hyperlinks}</hyperlinks>`}</worksheet>`,
    relationships: relationshipsPart(links.map(([, url]) => ["hyperlink", url, "External"])),
  };
}

type Texts = (typeof TEXTS)[Language];

function citationsSheet(
  { sources = [], weir }: EmbeddedPackage,
  time: string,
  texts: Texts,
): { xml: string; relationships: string } {
  const plain = (text = ""): SheetCell => ({ text, style: STYLES.general });
  const wrapped = (text = ""): SheetCell => ({ text, style: STYLES.wrapped });
  const cited = sources.map(({ title, path, doi, citation, version, published, licence }) => [
    wrapped(citation ?? title),
    linkCell(doi ?? path, path),
    plain(version),
    plain(published),
    linkCell(licence ?? "", licence ?? ""),
  ]);
  const about = [
    [texts.query, weir.url],
    ...Object.entries(weir.query ?? {}).map(([name, value]) => [`  ${name}`, String(value)]),
    [texts.time, time],
    [texts.made, `@weir/datastream ${weir.version}`],
  ].map((line) => line.map(plain));
  const rows = [...cited.length > 0 ? cited : [[wrapped(texts.noCitations)]], [], ...about];
  return smallSheet(texts.citationHeadings, rows, [80, 28, 10, 22, 40]);
}

/** Characters of a link in Excel. */
const MAX_LINK_LENGTH = 2_079;

function linkCell(text: string, url: string): SheetCell {
  const isUrl = /^https?:\/\//i.test(url) && url.length <= MAX_LINK_LENGTH && URL.canParse(url);
  return isUrl
    ? { text, style: STYLES.link, link: new URL(url).href }
    : { text, style: STYLES.general };
}

function columnsSheet(fields: readonly PackageField[], texts: Texts): string {
  const rows = fields.map(({ name, title = "", description = "", unit, unitField }) =>
    [name, title, description, unit ?? (unitField ? texts.unitIn(unitField) : "")]
      .map((text) => ({ text, style: STYLES.general }))
  );
  return smallSheet(texts.columnHeadings, rows, [34, 34, 90, 34]).xml;
}

type Relationship = readonly [type: string, target: string, mode?: "External"];

/** A type without a scheme is one of the document. */
function relationshipsPart(relationships: readonly Relationship[]): string {
  const elements = relationships.map(([type, target, mode], index) =>
    `<Relationship Id="rId${index + 1}" Type="${
      type.includes(":") ? type : `${RELATIONSHIPS}/${type}`
    }" Target="${escapeMarkup(target)}"${mode ? ` TargetMode="${mode}"` : ""}/>`
  );
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${
    elements.join("")
  }</Relationships>`;
}

/** The first styles are those of `STYLES`, in order. */
function stylesPart(): string {
  const decimals = Array.from({ length: MAX_DECIMALS + 1 }, (_, count) => count);
  const [dateFormat, firstFormat] = [164, 165];
  const formats = [
    [dateFormat, "yyyy\\-mm\\-dd"],
    ...decimals.map((
      count,
    ) => [firstFormat + count, `0${count > 0 ? "." : ""}${"0".repeat(count)}`]),
  ].map(([id, code]) => `<numFmt numFmtId="${id}" formatCode="${code}"/>`);
  const styles = [
    cellStyle(0),
    cellStyle(TEXT_FORMAT),
    cellStyle(dateFormat),
    cellStyle(TEXT_FORMAT, 1),
    cellStyle(TEXT_FORMAT, 2),
    cellStyle(TEXT_FORMAT, 0, '<alignment vertical="top" wrapText="1"/>'),
    ...decimals.map((count) => cellStyle(firstFormat + count)),
  ];
  const font = (more: string) => `<font>${more}<sz val="11"/><name val="Calibri"/></font>`;
  return `${XML}<styleSheet xmlns="${MAIN}">` +
    `<numFmts count="${formats.length}">${formats.join("")}</numFmts>` +
    `<fonts count="3">${font("")}${font("<b/>")}` +
    '<font><u/><sz val="11"/><color rgb="FF0563C1"/><name val="Calibri"/></font></fonts>' +
    '<fills count="2"><fill><patternFill patternType="none"/></fill>' +
    '<fill><patternFill patternType="gray125"/></fill></fills>' +
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
    `<cellStyleXfs count="1">${'<xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>'}</cellStyleXfs>` +
    `<cellXfs count="${styles.length}">${styles.join("")}</cellXfs>` +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>' +
    "</styleSheet>";
}

/** The built-in format `@`. */
const TEXT_FORMAT = 49;

function cellStyle(format: number, font = 0, more = ""): string {
  const attributes = `numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0"` +
    `${format > 0 ? ' applyNumberFormat="1"' : ""}${font > 0 ? ' applyFont="1"' : ""}`;
  return more ? `<xf ${attributes} applyAlignment="1">${more}</xf>` : `<xf ${attributes}/>`;
}

function corePart(title: string, time: string): string {
  return `${XML}<cp:coreProperties xmlns:cp="${PACKAGE}/metadata/core-properties" ` +
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" ' +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
    `<dc:title>${escapeText(title)}</dc:title><dc:creator>@weir/datastream</dc:creator>` +
    `<dcterms:created xsi:type="dcterms:W3CDTF">${time}</dcterms:created></cp:coreProperties>`;
}

/** Identifier of properties that a program defines. */
const CUSTOM_PROPERTY = "{D5CDD505-2E9C-101B-9397-08002B2CF9AE}";

function customPart(datapackage: string): string {
  const office = "http://schemas.openxmlformats.org/officeDocument/2006";
  return `${XML}<Properties xmlns="${office}/custom-properties" xmlns:vt="${office}/docPropsVTypes">` +
    `<property fmtid="${CUSTOM_PROPERTY}" pid="2" name="datapackage">` +
    `<vt:lpwstr>${escapeText(datapackage)}</vt:lpwstr></property></Properties>`;
}
