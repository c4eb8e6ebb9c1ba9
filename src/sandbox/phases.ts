/** What is measured, and how. */
export interface Characteristic {
  name: string;
  unit: string | null;
  middle: number;
  spread: number;
  decimals: number;
  fraction: string | null;
  speciation: string | null;
  field: boolean;
}

/** Made at the water. */
const field = { field: true, fraction: null, speciation: null };
/** Made in the laboratory. */
const laboratory = { field: false, fraction: "Total", speciation: null };

/** Ten characteristics, each measured once a visit. */
export const CHARACTERISTICS: readonly Characteristic[] = [
  { ...field, name: "pH", unit: null, middle: 7.4, spread: 2, decimals: 2 },
  { ...field, name: "Temperature, water", unit: "deg C", middle: 9, spread: 22, decimals: 1 },
  { ...field, name: "Dissolved oxygen (DO)", unit: "mg/L", middle: 9, spread: 8, decimals: 2 },
  { ...field, name: "Specific conductance", unit: "uS/cm", middle: 310, spread: 500, decimals: 1 },
  { ...field, name: "Turbidity", unit: "NTU", middle: 11, spread: 20, decimals: 2 },
  {
    ...laboratory,
    name: "Total Phosphorus, mixed forms",
    unit: "mg/L",
    middle: 0.05,
    spread: 0.09,
    decimals: 4,
    speciation: "as P",
  },
  {
    ...laboratory,
    name: "Nitrate",
    unit: "mg/L",
    middle: 0.9,
    spread: 1.6,
    decimals: 3,
    fraction: "Dissolved",
    speciation: "as N",
  },
  { ...laboratory, name: "Chloride", unit: "mg/L", middle: 40, spread: 75, decimals: 1 },
  {
    ...laboratory,
    name: "Escherichia coli",
    unit: "cfu/100mL",
    middle: 160,
    spread: 300,
    decimals: 0,
    fraction: null,
  },
  {
    ...laboratory,
    name: "Total suspended solids",
    unit: "mg/L",
    middle: 22,
    spread: 40,
    decimals: 1,
    fraction: "Non-Filterable (Particle)",
  },
];

/** Visits before a location's dates begin anew; two of them have no date: one row in a hundred. */
const VISITS = 200;

/** Everything that a filter can ask of a record depends on its phase, a number below this one. */
export const PHASES = VISITS * CHARACTERISTICS.length;

/** What a filter can ask of a record itself. */
export interface Phase {
  characteristic: Characteristic;
  /** `YYYY-MM-DD`, or null for a row without a start date. */
  startDate: string | null;
  year: number | null;
  media: string;
  activityType: string;
  /** The service's documents list the name but no values; these are the sandbox's own. */
  activityGroup: "Field" | "Sample" | "Quality Control";
}

/** The phase of the `ordinal`th record of a location: a visit measures each characteristic once. */
export function phaseOf(location: number, ordinal: number): number {
  const characteristic = ordinal % CHARACTERISTICS.length;
  const visit = Math.floor(ordinal / CHARACTERISTICS.length) % VISITS;
  // 77 has no factor in common with 200: every visit of the cycle is reached, years well mixed.
  const mixed = (visit * 77 + location * 31) % VISITS;
  return mixed * CHARACTERISTICS.length + characteristic;
}

/** All phases by number. */
export const PHASE_TABLE: readonly Phase[] = Array.from({ length: PHASES }, (_, number) => {
  const visit = Math.floor(number / CHARACTERISTICS.length);
  const characteristic = CHARACTERISTICS[number % CHARACTERISTICS.length]!;
  const date = new Date(Date.UTC(2012, 0, 9 + visit * 22)).toISOString().slice(0, 10);
  const startDate = visit % 100 === 99 ? null : date;
  const control = visit % 20 === 7;
  return {
    characteristic,
    startDate,
    year: startDate === null ? null : Number(startDate.slice(0, 4)),
    media: visit % 11 === 5 && !characteristic.field ? "Surface Water Sediment" : "Surface Water",
    activityType: control
      ? "Quality Control Sample-Field Replicate"
      : characteristic.field
      ? "Field Msr/Obs"
      : "Sample-Routine",
    activityGroup: control ? "Quality Control" : characteristic.field ? "Field" : "Sample",
  };
});
