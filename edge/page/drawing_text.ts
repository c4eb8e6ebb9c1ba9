// Texts of the map, the chart, the bars and the table in both languages.

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
};

/** Texts by language. */
export const DRAWING_TEXT: Readonly<Record<Language, DrawingText>> = { en: EN, fr: FR };

const LOCALES: Record<Language, string> = { en: "en-CA", fr: "fr-CA" };

/** Returns a number in the notation of a language, such as `1,234.5` or `1 234,5`. */
export function formatNumber(
  value: number,
  language: Language,
  options?: Intl.NumberFormatOptions,
): string {
  return value.toLocaleString(LOCALES[language], options);
}
