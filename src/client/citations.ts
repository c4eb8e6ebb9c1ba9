/** How a dataset is to be cited; use of the data requires it. */
export interface Citation {
  /** Its DOI, as `10.25976/xxxx-xx00`. */
  doi: string;
  /** The link of the form `https://doi.org/<doi>` that a citation must hold. */
  link: string;
  /** Its name. */
  name: string;
  /** The version of the data, as `1.0.0`. */
  version: string;
  /** The text to cite, as its publisher words it. */
  citation: string;
  /** The address of the licence. */
  licence: string;
}

/** The fields of Metadata that a citation is made of. */
export const CITED_FIELDS = ["DOI", "DatasetName", "Version", "Citation", "Licence"] as const;

/** The citation of a dataset. */
export function toCitation(
  dataset: Record<(typeof CITED_FIELDS)[number], string>,
): Citation {
  const { DOI: doi, DatasetName: name, Version: version, Citation: citation, Licence: licence } =
    dataset;
  return { doi, link: `https://doi.org/${doi}`, name, version, citation, licence };
}
