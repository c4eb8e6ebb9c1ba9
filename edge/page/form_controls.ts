import { html } from "hono/html";
import { REGIONS } from "../../src/odata/regions.ts";
import { fieldNames, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import type { AccessMode } from "../options.ts";
import type { Form } from "./form.ts";
import type { DatasetChoice } from "./preview.ts";
import { CHARACTERISTICS, regionName } from "./regions.ts";
import type { Html } from "./results.ts";

/** Content of the form. */
export interface FormControls {
  access: AccessMode;
  form: Form;
  /** Datasets to choose from, or `undefined` if the list is not known. */
  datasets: readonly DatasetChoice[] | undefined;
  /**
   * Number to send with the form, or `undefined` on the first page.
   *
   * A browser treats a form whose URL differs from the page's by its fragment alone as a link within
   * the page and sends no request, so a failed request could not be repeated.
   */
  attempt: number | undefined;
}

const ENDPOINTS: Record<ResourceName, string> = {
  Records: "every column, for a file",
  Observations: "what was measured",
  Locations: "where it was measured",
  Metadata: "the datasets",
};
const DAYS: Record<string, string> = { 1: "a day", 7: "a week", 30: "30 days", 365: "a year" };

/** Renders the form. */
export function renderForm(controls: FormControls): Html {
  const { access, form, attempt } = controls;
  return html`
    <form method="${access === "signed" || access === "token"
      ? "post"
      : "get"}" action="/#results-heading" autocomplete="off" data-access="${access}">
      ${attempt && html`<input type="hidden" name="attempt" value="${attempt}">`}
      ${renderCredential(access)}
      <fieldset class="choices">
        <legend>What to download</legend>
        ${(Object.keys(ENDPOINTS) as ResourceName[]).map((name) =>
          html`
            <label
              class="choice"><input type="radio" name="endpoint" value="${name}" ${name ===
                  form.endpoint &&
                "checked"}> <span><strong>${name}</strong> <small>${ENDPOINTS[
                  name
                ]}</small></span></label>
          `
        )}
      </fieldset>
      ${renderDatasets(controls)}
      <div class="columns">
        <fieldset>
          <legend>Region and characteristic</legend>
          <label>Region
            <select name="region">
              <option value="">Everywhere</option>
              ${form.region && regionName(form.region) === undefined &&
                html`<option value="${form.region}" selected>${form.region}</option>`}
              ${REGIONS.map(([label, regions]) =>
                html`<optgroup label="${label}">${
                  Object.entries(regions).map(([id, name]) =>
                    html`<option value="${id}" ${id === form.region && "selected"}>${name}</option>`
                  )
                }</optgroup>`
              )}
            </select>
          </label>
          <label>Characteristic
            <input name="characteristic" list="characteristics" value="${form
              .characteristic}" autocomplete="off" placeholder="Any, or such as pH">
          </label>
          <datalist id="characteristics">${CHARACTERISTICS.map((name) =>
            html`<option value="${name}"></option>`
          )}</datalist>
        </fieldset>
        <fieldset>
          <legend>Years</legend>
          <div class="pair">
            ${renderInput("from", "From year", form.from, "numeric", "1990")}
            ${renderInput("to", "To year", form.to, "numeric", "2020")}
          </div>
        </fieldset>
        <fieldset>
          <legend>Bounding box <small>degrees</small></legend>
          <div class="pair">
            ${renderInput("west", "West", form.west, "text", "-64.5")}
            ${renderInput("east", "East", form.east, "text", "-62.0")}
            ${renderInput("south", "South", form.south, "text", "45.9")}
            ${renderInput("north", "North", form.north, "text", "47.1")}
          </div>
        </fieldset>
      </div>
      ${renderFields(form)}
      <p class="submit">
        <button type="submit">Show</button>
        <a href="/">Clear</a>
        ${access === "signed" && renderDays(form.days)}
      </p>
      <p id="form-status" role="status"></p>
    </form>
  `;
}

function renderCredential(access: AccessMode): Html | undefined {
  if (access === "public") return undefined;
  const isKey = access === "caller";
  // A key has no name: a form without script must not put it into a URL.
  const name = isKey ? undefined : "token";
  return html`
    <fieldset class="credential" ${isKey && "hidden data-script"}>
      <legend><label for="credential">${isKey ? "Your API key" : "Your token"}</label></legend>
      <input id="credential" type="password" autocomplete="off" spellcheck="false"
        aria-describedby="credential-use" ${name && html`name="${name}"`}>
      <p id="credential-use"><small>${isKey
        ? "Kept in this page alone, until you close it, and sent with each request"
        : "From whoever runs this server; kept in this page alone"}</small></p>
    </fieldset>
        ${isKey &&
          html`<noscript><p>Without scripts this page makes the address, and the line for curl, which sends your key.</p></noscript>`}
  `;
}

function renderDatasets({ datasets, form }: FormControls): Html {
  if (datasets === undefined) {
    return html`
      <fieldset>
        <legend>Datasets</legend>
        <label>DOIs, with commas between them
              <input name="dataset" value="${form.datasets.join(
                ", ",
              )}" autocomplete="off" placeholder="All, or such as 10.25976/xxxx-xx00">
            </label>
      </fieldset>
    `;
  }
  const chosen = new Set(form.datasets);
  const others = form.datasets.filter((doi) => !datasets.some(({ DOI }) => DOI === doi));
  const choices = [...others.map((DOI) => ({ DOI, DatasetName: DOI })), ...datasets];
  return html`
    <details class="chooser" ${chosen.size > 0 && "open"}>
      <summary>Datasets <small>${chosen.size > 0
        ? `${chosen.size} chosen`
        : "all"}</small></summary>
      <fieldset class="list">
            <legend class="hidden">Datasets</legend>
            ${choices.map(({ DOI, DatasetName }) =>
              html`
                <label
                  class="choice"><input type="checkbox" name="dataset" value="${DOI}" ${chosen.has(
                    DOI,
                  ) && "checked"}> <span>${DatasetName} <small>${DOI}</small></span></label>
              `
            )}
          </fieldset>
    </details>
  `;
}

/** Renders the fields of every endpoint; the script shows only those of the chosen one. */
function renderFields({ endpoint, fields }: Form): Html {
  const chosen = new Set(fields);
  return html`<details class="chooser" ${chosen.size > 0 && "open"}>
      <summary>Fields <small>${chosen.size > 0 ? `${chosen.size} chosen` : "all"}</small></summary>
      ${
    (Object.keys(RESOURCES) as ResourceName[]).map((name) =>
      html`<fieldset class="list" data-fields="${name}">
        <legend>Fields of ${name}</legend>
        ${
        fieldNames(name).map((field) =>
          html`
            <label
              class="choice"><input type="checkbox" name="field" value="${field}" ${name ===
                  endpoint && chosen.has(field) && "checked"}> <span>${field}</span></label>
          `
        )
      }
      </fieldset>`
    )
  }
    </details>`;
}

function renderInput(
  name: string,
  label: string,
  value: string,
  mode: string,
  placeholder: string,
): Html {
  return html`<label>${label}
            <input name="${name}" value="${value}" inputmode="${mode}" placeholder="${placeholder}" autocomplete="off">
          </label>`;
}

function renderDays(days: string): Html {
  const choices = days in DAYS ? DAYS : { ...DAYS, [days]: `${days} days` };
  return html`<label class="inline">Links hold for
        <select name="days">${
    Object.entries(choices).map(([value, label]) =>
      html`<option value="${value}" ${value === days && "selected"}>${label}</option>`
    )
  }</select>
      </label>`;
}
