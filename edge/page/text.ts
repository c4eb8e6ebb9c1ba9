// The texts of the page in English and French. French names of characteristics are those of DataStream's schema.
import { REGIONS } from "../../src/odata/regions.ts";
import type { Language } from "./drawing_text.ts";

export type { Language };

const ENGLISH = {
  title: "Weir: open water-quality data of Canada",
  tagline: "Open water-quality data of Canada",
  skip: "Skip to the results",
  datasets: "Datasets",
  fields: "Fields",
  documentation: "Documentation",
  menu: "Menu",
  otherLanguage: "Français",
  synthetic: "Synthetic data.",
  syntheticNote: "The places are real, the values are generated, not measured.",
  what: "What was measured?",
  whatHint: "Anything: pH, nitrate, lead …",
  addAnother: "Add another …",
  where: "Where?",
  allOfCanada: "All of Canada",
  whereNote: "A region, or a part of the name of a location or dataset",
  years: "Years",
  fromYear: "From year",
  to: "to",
  toYear: "To year",
  show: "Show data",
  moreFilters: "More filters",
  moreFiltersNote: "dataset, medium, type of place, box on the map",
  clear: "Clear all",
  change: "Change",
  dataset: "Dataset",
  datasetHint: "DOI, or several with commas",
  medium: "Medium",
  placeType: "Type of place",
  any: "Any",
  box: "Box on the map, in degrees",
  west: "West",
  south: "South",
  east: "East",
  north: "North",
  linkDays: "Links are valid for (days)",
  key: "Your API key",
  keyNote: "Sent with each request. Kept in this page only, until you close it.",
  keyNoScript:
    "Without JavaScript, this page shows the URL and a curl command that sends your key.",
  token: "Your token",
  tokenNote: "Issued by the operator of this server. Kept in this page only, until you close it.",
  results: "Results",
  measurement: "measurement",
  measurements: "measurements",
  about: "About",
  location: "location",
  locations: "locations",
  everything: "Everything",
  perYear: "Measurements per year",
  showPerYear: "Show measurements per year",
  source: "DataStream: Records",
  belowLimit: "{n} are below a limit.",
  copyLink: "Copy link",
  copy: "Copy",
  copied: "Copied",
  noChart: "{n} results: choose a location or years to see a chart.",
  noSeries: "None of these results has a date and a value or limit, so there is no chart.",
  download: "Download",
  size: "{rows} rows, {bytes}, about {time}",
  tool: "I will use",
  other: "Other",
  downloadFor: "Download for {tool}",
  downloadOther: "Download as NDJSON",
  mainColumns: "12 main columns",
  allColumns: "all 44",
  tidy: "One value column, one unit column",
  tidyNote: "non-detects marked in a column of their own",
  excelLimit: "Excel shows at most 1,048,575 rows: choose fewer years, or another tool.",
  qgisNote: "The locations as GeoJSON, without measurements.",
  needsHeader: "Without JavaScript, use the curl command below.",
  needsKey: "To see the data and download it here, enter your key above. Or use the code below.",
  stale: "The form has changed.",
  staleNote: "The results below are for the old filter.",
  staleDownload: "Show the data of the changed form first.",
  loading: "Loading …",
  downloading: "Downloading",
  received: "{bytes} received",
  complete: "Complete: {bytes}",
  downloadFailed: "The download failed and no file was saved.",
  cancel: "Cancel",
  code: "Code",
  codeToken: "Set the variable {variable} to your credential first.",
  cite: "Cite {n} datasets",
  citeOne: "Cite the dataset",
  citeNote: "The licence of the data requires these citations.",
  datasetPage: "dataset page",
  licence: "Licence",
  expires: "These links are valid until {time}. Anyone who has a link can use it.",
  nothing: "0 measurements",
  nothingDownload: "There is nothing to download.",
  removeFilter: "Remove a filter, or choose more years.",
  yearsInstead: "Show all years",
  notInList: "No “{name}” in the list of names.",
  near: "Near:",
  noLocation: "No region, dataset or location among those loaded has “{name}” in its name.",
  tooManyLocations:
    "{n} locations have “{name}” in their name: write more of it, or choose a region.",
  notKnown: "No measurement of “{name}” was found.",
  badYear: "A year must have four digits, got “{value}”.",
  badYears: "The first year, {from}, must not be after the last one, {to}.",
  badBox: "A box needs four numbers of degrees, with west below east and south below north.",
  badFilter: "The filter cannot be used.",
  busy: "The service is busy.",
  busyNote: "Trying again in {n} s.",
  failed: "The service did not answer.",
  failedNote: "Choose fewer years or one place, then show again.",
  noAccess: "Not allowed.",
  tokenRequired: "A token is required to show results and links: enter yours above.",
  formIncomplete: "The form did not arrive completely: send it again.",
  request: "Request",
  tryAgain: "Try again",
  aboutDataset: "About",
  version: "Version",
  status: "Status",
  onGoing: "Ongoing",
  completed: "Completed",
  whatMeasured: "What was measured",
  characteristic: "Characteristic",
  median: "Median",
  tooManyToList: "{n} results: open a selection to see values.",
  openSelection: "Open as a selection",
  noDataset: "There is no dataset with this DOI.",
  field: "Field",
  meaning: "Meaning",
  chooseColumns: "Columns of the table",
  moreColumns: "All columns",
  fewerColumns: "Fewer columns",
  footer:
    "each dataset has its own licence. Map: Natural Earth, 1:50 million. Weir is not part of DataStream.",
  dataFrom: "Data from",
  remove: "Remove",
  moreNames: "{n} more names contain “{text}”. Enter takes the marked name; several are possible.",
  suggestions: "Suggestions",
  drawBox: "Drag on the map to draw a box.",
  missing: "{n} more locations are not on the map.",
  only: "Only",
};

export type Text = typeof ENGLISH;

const FRENCH: Text = {
  title: "Weir : données ouvertes sur la qualité de l’eau au Canada",
  tagline: "Données ouvertes sur la qualité de l’eau au Canada",
  skip: "Aller aux résultats",
  datasets: "Jeux de données",
  fields: "Champs",
  documentation: "Documentation",
  menu: "Menu",
  otherLanguage: "English",
  synthetic: "Données synthétiques.",
  syntheticNote: "Les lieux sont réels, les valeurs sont générées, non mesurées.",
  what: "Qu’a-t-on mesuré ?",
  whatHint: "Tout : pH, nitrate, plomb …",
  addAnother: "Ajouter …",
  where: "Où ?",
  allOfCanada: "Tout le Canada",
  whereNote: "Une région, ou une partie du nom d’un lieu ou d’un jeu de données",
  years: "Années",
  fromYear: "Première année",
  to: "à",
  toYear: "Dernière année",
  show: "Afficher",
  moreFilters: "Plus de filtres",
  moreFiltersNote: "jeu de données, milieu, type de lieu, cadre sur la carte",
  clear: "Tout effacer",
  change: "Modifier",
  dataset: "Jeu de données",
  datasetHint: "DOI, ou plusieurs séparés par des virgules",
  medium: "Milieu",
  placeType: "Type de lieu",
  any: "Tous",
  box: "Cadre sur la carte, en degrés",
  west: "Ouest",
  south: "Sud",
  east: "Est",
  north: "Nord",
  linkDays: "Validité des liens (jours)",
  key: "Votre clé d’API",
  keyNote: "Envoyée avec chaque requête. Gardée dans cette page seulement, jusqu’à sa fermeture.",
  keyNoScript:
    "Sans JavaScript, cette page montre l’URL et une commande curl qui envoie votre clé.",
  token: "Votre jeton",
  tokenNote:
    "Remis par l’exploitant de ce serveur. Gardé dans cette page seulement, jusqu’à sa fermeture.",
  results: "Résultats",
  measurement: "mesure",
  measurements: "mesures",
  about: "Environ",
  location: "lieu",
  locations: "lieux",
  everything: "Tout",
  perYear: "Mesures par année",
  showPerYear: "Afficher les mesures par année",
  source: "DataStream : Records",
  belowLimit: "{n} sont sous une limite.",
  copyLink: "Copier le lien",
  copy: "Copier",
  copied: "Copié",
  noChart: "{n} résultats : choisissez un lieu ou des années pour voir un graphique.",
  noSeries:
    "Aucun de ces résultats n’a de date et de valeur ou de limite : il n’y a pas de graphique.",
  download: "Télécharger",
  size: "{rows} lignes, {bytes}, environ {time}",
  tool: "Pour",
  other: "Autre",
  downloadFor: "Télécharger pour {tool}",
  downloadOther: "Télécharger en NDJSON",
  mainColumns: "12 colonnes principales",
  allColumns: "toutes (44)",
  tidy: "Une colonne de valeurs, une d’unités",
  tidyNote: "les non-détections ont leur propre colonne",
  excelLimit:
    "Excel affiche au plus 1 048 575 lignes : choisissez moins d’années ou un autre outil.",
  qgisNote: "Les lieux en GeoJSON, sans mesures.",
  needsHeader: "Sans JavaScript, utilisez la commande curl ci-dessous.",
  needsKey:
    "Pour voir les données et les télécharger ici, entrez votre clé ci-dessus. Ou utilisez le code ci-dessous.",
  stale: "Le formulaire a changé.",
  staleNote: "Les résultats ci-dessous sont ceux de l’ancien filtre.",
  staleDownload: "Affichez d’abord les données du formulaire modifié.",
  loading: "Chargement …",
  downloading: "Téléchargement",
  received: "{bytes} reçus",
  complete: "Terminé : {bytes}",
  downloadFailed: "Le téléchargement a échoué et aucun fichier n’a été enregistré.",
  cancel: "Annuler",
  code: "Code",
  codeToken: "Mettez d’abord votre identifiant dans la variable {variable}.",
  cite: "Citer {n} jeux de données",
  citeOne: "Citer le jeu de données",
  citeNote: "La licence des données exige ces citations.",
  datasetPage: "page du jeu de données",
  licence: "Licence",
  expires: "Ces liens sont valides jusqu’au {time}. Quiconque a un lien peut l’utiliser.",
  nothing: "0 mesure",
  nothingDownload: "Il n’y a rien à télécharger.",
  removeFilter: "Retirez un filtre ou choisissez plus d’années.",
  yearsInstead: "Afficher toutes les années",
  notInList: "« {name} » n’est pas dans la liste des noms.",
  near: "Noms proches :",
  noLocation: "Aucune région, aucun jeu de données ni lieu chargé n’a « {name} » dans son nom.",
  tooManyLocations:
    "{n} lieux ont « {name} » dans leur nom : précisez le nom ou choisissez une région.",
  notKnown: "Aucune mesure de « {name} » n’a été trouvée.",
  badYear: "Une année doit avoir quatre chiffres, reçu « {value} ».",
  badYears: "La première année, {from}, ne doit pas suivre la dernière, {to}.",
  badBox: "Un cadre a quatre nombres de degrés : l’ouest avant l’est et le sud avant le nord.",
  badFilter: "Ce filtre ne peut pas être utilisé.",
  busy: "Le service est occupé.",
  busyNote: "Nouvel essai dans {n} s.",
  failed: "Le service n’a pas répondu.",
  failedNote: "Choisissez moins d’années ou un seul lieu, puis affichez de nouveau.",
  noAccess: "Accès refusé.",
  tokenRequired:
    "Un jeton est requis pour afficher les résultats et les liens : entrez le vôtre ci-dessus.",
  formIncomplete: "Le formulaire n’est pas arrivé au complet : envoyez-le de nouveau.",
  request: "Requête",
  tryAgain: "Réessayer",
  aboutDataset: "À propos",
  version: "Version",
  status: "État",
  onGoing: "En cours",
  completed: "Terminé",
  whatMeasured: "Ce qui a été mesuré",
  characteristic: "Caractéristique",
  median: "Médiane",
  tooManyToList: "{n} résultats : ouvrez une sélection pour voir les valeurs.",
  openSelection: "Ouvrir comme sélection",
  noDataset: "Aucun jeu de données n’a ce DOI.",
  field: "Champ",
  meaning: "Signification",
  chooseColumns: "Colonnes du tableau",
  moreColumns: "Toutes les colonnes",
  fewerColumns: "Moins de colonnes",
  footer:
    "chaque jeu de données a sa licence. Carte : Natural Earth, 1:50 000 000. Weir ne fait pas partie de DataStream.",
  dataFrom: "Données de",
  remove: "Retirer",
  moreNames:
    "{n} autres noms contiennent « {text} ». Entrée prend le nom marqué ; plusieurs sont possibles.",
  suggestions: "Suggestions",
  drawBox: "Glissez sur la carte pour tracer un cadre.",
  missing: "{n} autres lieux ne sont pas sur la carte.",
  only: "Seulement",
};

export const TEXTS: Readonly<Record<Language, Text>> = { en: ENGLISH, fr: FRENCH };

const ENGLISH_GROUPS = {
  nutrients: "Nutrients",
  metals: "Metals",
  physical: "Physical",
  ions: "Major ions and hardness",
  bacteria: "Bacteria and toxins",
  biology: "Algae and pigments",
  pesticides: "Pesticides",
  organics: "Other organics",
  isotopes: "Isotopes and radioactivity",
};

export type GroupId = keyof typeof ENGLISH_GROUPS;

/** Groups of characteristics, in the order of suggestions. */
export const GROUP_NAMES: Readonly<Record<Language, Readonly<Record<GroupId, string>>>> = {
  en: ENGLISH_GROUPS,
  fr: {
    nutrients: "Nutriments",
    metals: "Métaux",
    physical: "Physique",
    ions: "Ions majeurs et dureté",
    bacteria: "Bactéries et toxines",
    biology: "Algues et pigments",
    pesticides: "Pesticides",
    organics: "Autres composés organiques",
    isotopes: "Isotopes et radioactivité",
  },
};

const FRENCH_REGIONS: Readonly<Record<string, string>> = {
  "hub.atlantic": "Atlantique",
  "hub.greatlakes": "Grands Lacs",
  "hub.lakewinnipeg": "Lac Winnipeg",
  "hub.mackenzie": "Mackenzie",
  "hub.pacific": "Pacifique",
  "admin.4.ca.bc": "Colombie-Britannique",
  "admin.4.ca.nb": "Nouveau-Brunswick",
  "admin.4.ca.nl": "Terre-Neuve-et-Labrador",
  "admin.4.ca.ns": "Nouvelle-Écosse",
  "admin.4.ca.nt": "Territoires du Nord-Ouest",
  "admin.4.ca.pe": "Île-du-Prince-Édouard",
  "admin.4.ca.qc": "Québec",
};
const BASIN: Record<Language, (name: string) => string> = {
  en: (name) => `${name} (basin)`,
  fr: (name) => `${name} (bassin)`,
};

/** Regions by Id, with their names for the form. A hub has a name of its own, so that it differs from locations. */
export function regionsIn(language: Language): [id: string, name: string][] {
  return REGIONS.flatMap(([, regions]) =>
    Object.entries(regions).map(([id, name]): [string, string] => {
      const local = language === "fr" ? FRENCH_REGIONS[id] ?? name : name;
      return [id, id.startsWith("hub.") ? BASIN[language](local) : local];
    })
  );
}

/** Accepts the Id or the name in either language, in any case. */
export function findRegion(text: string): string | undefined {
  const wanted = fold(text);
  for (const language of ["en", "fr"] as const) {
    const found = regionsIn(language).find(([id, name]) => id === text || fold(name) === wanted);
    if (found) return found[0];
  }
  const [, short] = /^pei$/i.test(text) ? ["", "admin.4.ca.pe"] : [];
  return short;
}

/** In lower case, and without marks such as accents. */
export function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

/** Replaces `{name}` by values; numbers are formatted. */
export function fill(
  template: string,
  values: Readonly<Record<string, string | number>>,
  language: Language,
): string {
  return template.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name] ?? "";
    return typeof value === "number" ? formatNumber(value, language) : value;
  });
}

const LOCALES: Record<Language, string> = { en: "en-CA", fr: "fr-CA" };

export function formatNumber(value: number, language: Language): string {
  return value.toLocaleString(LOCALES[language]);
}

/** Such as `18 MB` or `0.2 Mo`. */
export function formatBytes(bytes: number, language: Language): string {
  const [units, divisors] = [language === "fr" ? ["ko", "Mo", "Go"] : ["kB", "MB", "GB"], [
    1e3,
    1e6,
    1e9,
  ]];
  const index = bytes < 1e5 ? 0 : bytes < 1e9 ? 1 : 2;
  const amount = bytes / divisors[index]!;
  const digits = amount < 10 && index > 0 ? 1 : 0;
  const text = amount.toLocaleString(LOCALES[language], { maximumFractionDigits: digits });
  return `${text} ${units[index]}`;
}

/** Such as `25 s` or `3 min`. */
export function formatTime(seconds: number, language: Language): string {
  return seconds < 90
    ? `${formatNumber(Math.max(1, Math.round(seconds)), language)} s`
    : `${formatNumber(Math.round(seconds / 60), language)} min`;
}

/** By the parameter `lang`, else by the header `accept-language` (RFC 9110, 12.5.4). */
export function chooseLanguage(wanted: string | null, header: string | null): Language {
  if (wanted === "fr" || wanted === "en") return wanted;
  const ranked = (header ?? "").slice(0, 1_000).split(",").map((part) => {
    const [tag = "", quality] = part.trim().split(/\s*;\s*q=/);
    return {
      tag: tag.slice(0, 2).toLowerCase(),
      quality: quality === undefined ? 1 : Number(quality) || 0,
    };
  }).filter(({ tag, quality }) => (tag === "fr" || tag === "en") && quality > 0);
  const best = ranked.sort((a, b) => b.quality - a.quality)[0];
  return best?.tag === "fr" ? "fr" : "en";
}
