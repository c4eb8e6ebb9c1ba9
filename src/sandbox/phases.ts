/** What is measured, and how. */
export interface Characteristic {
  name: string;
  unit: string;
  middle: number;
  spread: number;
  decimals: number;
  fraction: string | null;
  speciation: string | null;
  /** Whether it is measured at the site, not in a laboratory. */
  field: boolean;
  /** Whether the result itself is a depth; its records have no activity depth. */
  isDepth: boolean;
}

const field = { field: true, fraction: null, speciation: null, isDepth: false };
const laboratory = { field: false, fraction: "Total", speciation: null, isDepth: false };

const TEMPERATURE: Characteristic = {
  ...field,
  name: "Temperature, water",
  unit: "deg C",
  middle: 9,
  spread: 22,
  decimals: 1,
};
const TURBIDITY: Characteristic = {
  ...field,
  name: "Turbidity",
  unit: "NTU",
  middle: 11,
  spread: 20,
  decimals: 2,
};
const SECCHI_DEPTH: Characteristic = {
  ...field,
  name: "Depth, Secchi disk depth",
  unit: "m",
  middle: 3,
  spread: 5,
  decimals: 1,
  isDepth: true,
};

/** The ten characteristics of a visit. On some visits Secchi depth replaces turbidity. */
const CHARACTERISTICS: readonly Characteristic[] = [
  { ...field, name: "pH", unit: "None", middle: 7.4, spread: 2, decimals: 2 },
  TEMPERATURE,
  { ...field, name: "Dissolved oxygen (DO)", unit: "mg/L", middle: 9, spread: 8, decimals: 2 },
  { ...field, name: "Specific conductance", unit: "uS/cm", middle: 310, spread: 500, decimals: 1 },
  TURBIDITY,
  {
    ...laboratory,
    name: "Total Phosphorus, mixed forms",
    unit: "mg/L",
    middle: 0.05,
    spread: 0.09,
    decimals: 4,
    fraction: "Unfiltered",
    speciation: "as P",
  },
  {
    ...laboratory,
    name: "Nitrate",
    unit: "mg/L",
    middle: 0.9,
    spread: 1.6,
    decimals: 3,
    fraction: "Filtered",
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
  activity: Activity;
}

/** A kind of activity: the type that its records show, and the group that filters find it by. */
export interface Activity {
  type: string;
  group: string;
}

// Types and groups are values of DataStream's schema 3.0.0 (2026-07-14). Which group a type belongs
// to is inferred from their names.
const FIELD_MEASURE: Activity = { type: "Field Msr/Obs", group: "Field Measure" };
const LAB_SAMPLE: Activity = { type: "Sample-Routine", group: "Lab Sample" };
const FIELD_CONTROL: Activity = {
  type: "Quality Control Field Replicate Msr/Obs",
  group: "Quality Control - Field Measure",
};
const LAB_CONTROL: Activity = {
  type: "Quality Control Sample-Field Replicate",
  group: "Quality Control - Lab Sample",
};
/** The schema requires a start time for this one. */
export const CONTINUOUS: Activity = {
  type: "Field Msr/Obs-Continuous Time Series",
  group: "Continuous Data",
};

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
  const characteristic = characteristicOf(visit, number % CHARACTERISTICS.length);
  const date = new Date(Date.UTC(2012, 0, 9 + visit * 22)).toISOString().slice(0, 10);
  const startDate = visit % 100 === 99 ? null : date;
  return {
    characteristic,
    startDate,
    year: startDate === null ? null : Number(startDate.slice(0, 4)),
    media: visit % 11 === 5 && !characteristic.field ? "Surface Water Sediment" : "Surface Water",
    activity: activityOf(visit, characteristic),
  };
});

function characteristicOf(visit: number, index: number): Characteristic {
  const characteristic = CHARACTERISTICS[index]!;
  return characteristic === TURBIDITY && visit % 20 === 3 ? SECCHI_DEPTH : characteristic;
}

function activityOf(visit: number, characteristic: Characteristic): Activity {
  if (visit % 20 === 7) return characteristic.field ? FIELD_CONTROL : LAB_CONTROL;
  if (visit % 20 === 13 && characteristic === TEMPERATURE) return CONTINUOUS;
  return characteristic.field ? FIELD_MEASURE : LAB_SAMPLE;
}
