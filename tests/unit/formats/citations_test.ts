// The files of citations keep every character of a name, and every line keeps the rules of its format. The year is that
// of the dataset's own citation.
import "../../helpers/no_permission.ts";
import { assertEquals } from "@std/assert";
import { CITATION_FORMATS } from "../../../src/formats/citations.ts";

const CITATIONS = [{
  doi: "10.25976/xx{x-x}00",
  link: "https://doi.org/10.25976/xx{x-x}00",
  name: 'Eau } "é"\\ 5% #1 a_b $2 ~^ <c>\nER  - x',
  organization: "Fish, Parks & {Lakes} and Sons",
  version: "1.0.0",
  published: "2020-03-04T12:00:00.000Z",
  citation: "Not a part of these formats",
  licence: "https://licence.example/a_b",
}, {
  doi: "10.25976/yyyy-yy00",
  link: "https://doi.org/10.25976/yyyy-yy00",
  name: "Without the rest",
  organization: "",
  version: "",
  published: "",
  citation: "",
  licence: "",
}];

Deno.test("bibtex escapes the characters of LaTeX with balanced braces, and repeats no DOI as a URL", () => {
  assertEquals(
    CITATION_FORMATS.bibtex.format(CITATIONS),
    String.raw`@misc{10.25976_xx_x-x_00,
  author = {{Fish, Parks \& \textbraceleft{}Lakes\textbraceright{} and Sons}},
  title = {{Eau \textbraceright{} "é"\textbackslash{} 5\% \#1 a\_b \$2 \textasciitilde{}\textasciicircum{} \textless{}c\textgreater{} ER - x}},
  year = {2020},
  month = mar,
  publisher = {DataStream},
  howpublished = {Dataset},
  version = {1.0.0},
  doi = {10.25976/xx%7Bx-x%7D00},
  note = {Licence: https://licence.example/a\_b}
}

@misc{10.25976_yyyy-yy00,
  title = {{Without the rest}},
  publisher = {DataStream},
  howpublished = {Dataset},
  doi = {10.25976/yyyy-yy00}
}
`,
  );
});

Deno.test("ris has one value per line, which no text can end", () => {
  assertEquals(
    CITATION_FORMATS.ris.format(CITATIONS).replaceAll("\r\n", "\n"),
    String.raw`TY  - DATA
AU  - Fish, Parks & {Lakes} and Sons
TI  - Eau } "é"\ 5% #1 a_b $2 ~^ <c> ER - x
PY  - 2020
DA  - 2020/03/04/
PB  - DataStream
ET  - 1.0.0
DO  - 10.25976/xx{x-x}00
N1  - Licence: https://licence.example/a_b
ER  - 

TY  - DATA
TI  - Without the rest
PB  - DataStream
DO  - 10.25976/yyyy-yy00
ER  - 
`,
  );
});

Deno.test("csl-json has items with the members of its schema", () => {
  assertEquals(JSON.parse(CITATION_FORMATS["csl-json"].format(CITATIONS)), [{
    id: "10.25976/xx{x-x}00",
    type: "dataset",
    title: 'Eau } "é"\\ 5% #1 a_b $2 ~^ <c> ER - x',
    author: [{ literal: "Fish, Parks & {Lakes} and Sons" }],
    issued: { "date-parts": [[2020, 3, 4]] },
    publisher: "DataStream",
    version: "1.0.0",
    DOI: "10.25976/xx{x-x}00",
    note: "Licence: https://licence.example/a_b",
  }, {
    id: "10.25976/yyyy-yy00",
    type: "dataset",
    title: "Without the rest",
    publisher: "DataStream",
    DOI: "10.25976/yyyy-yy00",
  }]);
});

/** Citation texts, and the year of each file for a version that was published in March 2020. */
const YEARS: readonly (readonly [citation: string, year: string, isDay?: boolean])[] = [
  [
    'Lake Group 2015. 2019. "Lakes" (dataset). 1.2.0. DataStream. https://doi.org/10.25976/a-2013',
    "2019",
  ],
  ["Lake Group 2015 (2019): Lakes 2001-2014. Version 2012.1. doi 10.25976/a.2013", "2019"],
  ['Lake Group 2015. "Lakes since 1999". 2001 – 2014. 2019-10-26.', "2019"],
  ["Lake Group 2015. Lakes 2001-2014. 2020.", "2020", true],
  ["Lake Group 2015. Lakes 2001-2014 https://doi.org/10.25976/a-2013", "2020", true],
];
Deno.test("bibtex, ris and csl-json have the year of the citation, else the date of publication", () => {
  for (const [citation, year, isDay = false] of YEARS) {
    const dataset = {
      ...CITATIONS[0]!,
      name: "Lakes 2001-2014",
      organization: "Lake Group 2015",
      citation,
    };
    const { bibtex, ris, "csl-json": csl } = CITATION_FORMATS;
    assertEquals(
      [
        bibtex.format([dataset]).match(/(?<=(?:year|month) = ){?\w+/g),
        ris.format([dataset]).match(/(?<=(?:PY|DA) {2}- ).*(?=\r)/g),
        JSON.parse(csl.format([dataset]))[0].issued["date-parts"],
      ],
      isDay
        ? [[`{${year}`, "mar"], [year, "2020/03/04/"], [[2020, 3, 4]]]
        : [[`{${year}`], [year], [[Number(year)]]],
      citation,
    );
  }
});
