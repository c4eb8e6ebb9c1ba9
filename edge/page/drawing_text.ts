import type { html } from "hono/html";

// Texts of the map, the chart, the bars and the table in both languages.

export type Html = ReturnType<typeof html>;

/** Language of the page. */
export type Language = "en" | "fr";

const plural = (one: string, many: string) => (count: number, number: string) =>
  `${number} ${count === 1 ? one : many}`;

const EN = {
  map: "Map",
  skipMap: "Skip the map",
  mapView: "View of the map",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  wholeMap: "All of Canada",
  box: "Box",
  boxLabel: "Choose a box",
  north: "Move north",
  south: "Move south",
  west: "Move west",
  east: "Move east",
  locations: plural("location", "locations"),
  locationsInView: (shown: string, all: string) => `${shown} of ${all} locations`,
  others: plural(
    "other location: not in this selection",
    "other locations: not in this selection",
  ),
  missing: plural("more is not shown", "more are not shown"),
  onlyLocation: "Only this location",
  closeCard: "Close",
  directions: { north: "N", south: "S", east: "E", west: "W" },

  linear: "Linear",
  logarithmic: "Logarithmic",
  logScale: "log scale",
  asTable: "As a table",
  fraction: (name: string) => `${name.toLowerCase()} fraction`,
  otherLocations: plural("other location", "other locations"),
  below: "below the limit, drawn at the limit",
  above: "above the limit, drawn at the limit",
  notDrawn: plural(
    "result has no value and no limit, and is not drawn",
    "results have no value and no limit, and are not drawn",
  ),
  otherSeries: plural("more series", "more series"),
  none: "none",
  chartLabel: (name: string, results: string, years: string) =>
    `Chart of ${name}: ${results} results, ${years}. The table after it shows them by year.`,
  tableByYear: "By year, all locations",
  year: "Year",
  results: "Results",
  belowLimit: "Below a limit",
  minimum: "Minimum",
  median: "Median",
  maximum: "Maximum",

  measurements: "Measurements",
  newest: (shown: string, all: string) => `${shown} of ${all}, newest first`,
  chooseColumns: "choose columns",
  date: "Date",
  location: "Location",
  characteristic: "Characteristic",
  value: "Value",
  unit: "Unit",
  sampleFraction: "Fraction",
  sample: "Sample",
  method: "Method",
  limitNote:
    "“<” stands before the limit of detection or quantification. Dates are local to the location.",
  conditions: {} as Readonly<Record<string, string>>,
};

/** Texts of the drawings, in one language. */
export type DrawingText = typeof EN;

const FR: DrawingText = {
  map: "Carte",
  skipMap: "Passer la carte",
  mapView: "Vue de la carte",
  zoomIn: "Agrandir",
  zoomOut: "Réduire",
  wholeMap: "Tout le Canada",
  box: "Cadre",
  boxLabel: "Choisir un cadre",
  north: "Aller au nord",
  south: "Aller au sud",
  west: "Aller à l’ouest",
  east: "Aller à l’est",
  locations: plural("lieu", "lieux"),
  locationsInView: (shown, all) => `${shown} des ${all} lieux`,
  others: plural(
    "autre lieu : hors de cette sélection",
    "autres lieux : hors de cette sélection",
  ),
  missing: plural("autre n’est pas affiché", "autres ne sont pas affichés"),
  onlyLocation: "Seulement ce lieu",
  closeCard: "Fermer",
  directions: { north: "N", south: "S", east: "E", west: "O" },

  linear: "Linéaire",
  logarithmic: "Logarithmique",
  logScale: "échelle logarithmique",
  asTable: "En tableau",
  fraction: (name) => `fraction « ${name} »`,
  otherLocations: plural("autre lieu", "autres lieux"),
  below: "sous la limite, placé à la limite",
  above: "au-dessus de la limite, placé à la limite",
  notDrawn: plural(
    "résultat n’a ni valeur ni limite et n’est pas tracé",
    "résultats n’ont ni valeur ni limite et ne sont pas tracés",
  ),
  otherSeries: plural("autre série", "autres séries"),
  none: "aucune",
  chartLabel: (name, results, years) =>
    `Graphique de ${name} : ${results} résultats, ${years}. Le tableau qui suit les présente par année.`,
  tableByYear: "Par année, tous les lieux",
  year: "Année",
  results: "Résultats",
  belowLimit: "Sous une limite",
  minimum: "Minimum",
  median: "Médiane",
  maximum: "Maximum",

  measurements: "Mesures",
  newest: (shown, all) => `${shown} sur ${all}, les plus récentes d’abord`,
  chooseColumns: "choisir les colonnes",
  date: "Date",
  location: "Lieu",
  characteristic: "Paramètre",
  value: "Valeur",
  unit: "Unité",
  sampleFraction: "Fraction",
  sample: "Échantillon",
  method: "Méthode",
  limitNote:
    "« < » précède la limite de détection ou de quantification. Les dates sont celles du lieu.",
  conditions: {
    "Not Detected": "non détecté",
    "Detected Not Quantified": "détecté, non quantifié",
    "Not Reported": "non rapporté",
    "Unable to Measure": "mesure impossible",
  },
};

/** Texts by language. */
export const DRAWING_TEXT: Readonly<Record<Language, DrawingText>> = { en: EN, fr: FR };

const LOCALES: Record<Language, string> = { en: "en-CA", fr: "fr-CA" };

/** Returns digits of the service in the notation of a language: all of them, with its decimal sign. */
export function formatDigits(digits: string, language: Language): string {
  return language === "fr" ? digits.replace(".", ",") : digits;
}

/** Returns a number in the notation of a language, such as `1,234.5` or `1 234,5`. */
export function localNumber(
  value: number,
  language: Language,
  options?: Intl.NumberFormatOptions,
): string {
  return value.toLocaleString(LOCALES[language], options);
}

/** Returns the short name of a month of a year; the first month is 0. */
export function monthName(month: number, language: Language): string {
  const options = { month: "short", timeZone: "UTC" } as const;
  return new Date(Date.UTC(2000, month)).toLocaleString(LOCALES[language], options);
}
