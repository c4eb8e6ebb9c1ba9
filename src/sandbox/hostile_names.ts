// Text for tests of programs that read the data: markup, formulas, quotes, control characters, emoji and
// right-to-left text. The sandbox uses it if `hostileNames` is set.

/** Names and abstracts of the datasets, in the order of their Ids. */
export const HOSTILE_DATASETS = [
  {
    name: "Synthetic Rivers, Lakes and Wells",
    organization: "Weir Sandbox Watershed Alliance",
    keywords: ["synthetic", "rivers", "lakes"],
    abstract: "Synthetic data for tests: nothing here was measured.\nDataset 1.",
  },
  {
    name: "Qualité de l’eau synthétique – Forêt boréale",
    organization: "Réseau synthétique de l’Érable",
    keywords: ["synthétique", "qualité de l’eau"],
    abstract: "Synthetic data for tests: nothing here was measured.\r\nDataset 2.",
  },
  {
    name: 'Synthetic "Citizen Science" Samples <script>alert("weir")</script>',
    organization: "Weir Sandbox Volunteers & Friends",
    keywords: ["synthetic", "citizen science; volunteers"],
    abstract: "Synthetic data for tests: nothing here was measured.\tDataset 3.",
  },
  {
    name: "=Synthetic coastal stations 🌊",
    organization: "Weir Sandbox Coast Watch",
    keywords: ["synthetic", "coast"],
    abstract: "-Synthetic data for tests: nothing here was measured.",
  },
  {
    name: "Synthetic northern lakes, under ice",
    organization: "Weir Sandbox Northern Programme",
    keywords: ["synthetic", "ice", "جليد"],
    abstract: "@Synthetic data for tests: nothing here was measured.",
  },
];

/** Names of the locations, by their number; they are used in turn. */
export const HOSTILE_LOCATIONS = [
  (n: number) => `Synthetic Creek, station ${n}`,
  (n: number) => `Rivière-aux-Érables synthétique, à l’île nº ${n}`,
  (n: number) => `Lake "Two Names" (synthetic) ${n}`,
  (n: number) => `Captain's Bay (synthetic) ${n}`,
];

/** Comments of the results. */
export const HOSTILE_COMMENTS = [
  "Clear sky, light wind",
  'Bottle labelled "B", lid cracked',
  "Eau trouble après l’orage, débit élevé",
  "Returned\rto the start",
  "Carriage return\r\nand line feed",
  "Owner's gate was shut",
  "Ducks 🦆 on the far shore",
  "=SUM(A1:A9)",
  "-2 steps downstream",
  "+1 bottle\tfor the laboratory",
  "@noon",
  "First line\nSecond line",
  "مياه صافية",
  "<script>alert('weir')</script>",
];
