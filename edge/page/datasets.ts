import { html } from "hono/html";
import type { DataStream } from "../../src/client/datastream.ts";
import { MAXIMUM_TOP } from "../../src/odata/resources.ts";

export interface DatasetChoice {
  doi: string;
  name: string;
}

export async function fetchDatasets(
  dataStream: DataStream,
  signal: AbortSignal,
): Promise<DatasetChoice[]> {
  const select = ["DOI", "DatasetName"] as const;
  const rows = await dataStream.metadata({ select, top: MAXIMUM_TOP, signal }).toArray();
  return rows
    .map(({ DOI, DatasetName }) => ({ doi: String(DOI), name: String(DatasetName ?? DOI) }))
    .sort((a, b) => a.name.localeCompare(b.name, "en"));
}

/** Checkboxes, or a text field if the datasets are not known. */
export function renderDatasets(
  datasets: readonly DatasetChoice[] | undefined,
  selected: readonly string[],
): ReturnType<typeof html> {
  if (datasets === undefined) {
    return html`
      <fieldset>
        <legend>Datasets</legend>
        <label>DOIs, separated by commas
          <input name="dataset" value="${selected.join(", ")}" autocomplete="off"
            placeholder="All, for example 10.25976/xxxx-xx00">
        </label>
      </fieldset>
    `;
  }
  // Sets, because a form can select thousands of DOIs: a search in an array would be quadratic.
  const known = new Set(datasets.map(({ doi }) => doi));
  const isSelected = new Set(selected);
  const unlisted = selected.filter((doi) => !known.has(doi)).map((doi) => ({ doi, name: doi }));
  return html`
    <details class="chooser" ${selected.length > 0 && "open"}>
      <summary>Datasets ${renderSelectedCount(selected.length)}</summary>
      <fieldset class="list">
        <legend class="hidden">Datasets</legend>
        ${[...unlisted, ...datasets].map(({ doi, name }) =>
          renderCheckbox(
            "dataset",
            doi,
            isSelected.has(doi),
            html`${name} <small>${doi}</small>`,
          )
        )}
      </fieldset>
    </details>
  `;
}

export function renderSelectedCount(count: number): ReturnType<typeof html> {
  return html`<small>${count > 0 ? `${count} selected` : "all"}</small>`;
}

export function renderCheckbox(
  name: string,
  value: string,
  isChecked: boolean,
  label: string | ReturnType<typeof html>,
): ReturnType<typeof html> {
  return html`
    <label class="choice">
      <input type="checkbox" name="${name}" value="${value}" ${isChecked && "checked"}>
      <span>${label}</span>
    </label>
  `;
}
