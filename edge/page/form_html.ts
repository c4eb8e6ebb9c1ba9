import { html } from "hono/html";
import { regionName, REGIONS } from "../../src/odata/regions.ts";
import { fieldNames, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import type { AccessMode } from "../options.ts";
import {
  type DatasetChoice,
  renderCheckbox,
  renderDatasets,
  renderSelectedCount,
} from "./datasets.ts";
import { type Form, FORM_LABELS, RESOURCE_LABELS } from "./form.ts";

export interface FormContent {
  access: AccessMode;
  form: Form;
  /** `undefined` if they are not known. */
  datasets: readonly DatasetChoice[] | undefined;
  /** Makes each URL new, because the browser sends no request if only the #fragment changes. */
  submission: number | undefined;
}

export function renderForm(content: FormContent): ReturnType<typeof html> {
  const { access, form, datasets, submission } = content;
  const method = access === "signed" || access === "token" ? "post" : "get";
  return html`
    <form method="${method}" action="/#results-heading" autocomplete="off" data-access="${access}">
      ${submission && html`<input type="hidden" name="submission" value="${submission}">`}
      ${renderCredential(access)} ${renderResources(form)} ${renderDatasets(
        datasets,
        form.datasets,
      )}
      <div class="columns">
        <fieldset>
          <legend>Region and characteristic</legend>
          ${renderRegions(form)} ${renderCharacteristics(form)}
        </fieldset>
        <fieldset>
          <legend>Years</legend>
          <div class="pair">
            ${renderInput("from", FORM_LABELS.from, form.from, "numeric", "1990")}
            ${renderInput("to", FORM_LABELS.to, form.to, "numeric", "2020")}
          </div>
        </fieldset>
        <fieldset>
          <legend>${FORM_LABELS.within} <small>degrees</small></legend>
          <div class="pair">
            ${renderInput("west", FORM_LABELS["within.west"], form.west, "text", "-64.5")}
            ${renderInput("east", FORM_LABELS["within.east"], form.east, "text", "-62.0")}
            ${renderInput("south", FORM_LABELS["within.south"], form.south, "text", "45.9")}
            ${renderInput("north", FORM_LABELS["within.north"], form.north, "text", "47.1")}
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

function renderCredential(access: AccessMode): ReturnType<typeof html> | undefined {
  if (access === "public") return undefined;
  const isKey = access === "caller";
  // The input has no name, so that without JavaScript the key does not get into the URL.
  const attributes = isKey ? html`hidden data-script` : undefined;
  const name = isKey ? undefined : html`name="token"`;
  return html`
    <fieldset class="credential" ${attributes}>
      <legend><label for="credential">${isKey ? FORM_LABELS.apiKey : "Your token"}</label></legend>
      <input id="credential" type="password" autocomplete="off" spellcheck="false"
        aria-describedby="credential-use" ${name}>
      <p id="credential-use"><small>${isKey
        ? "Sent with each request."
        : "Issued by the operator of this server."} Kept in this page only, until you close it.</small></p>
    </fieldset>
    ${isKey && html`
      <noscript>
        <p>Without JavaScript, this page shows the URL and a curl command that sends your key.</p>
      </noscript>
    `}
  `;
}

function renderResources({ resource }: Form): ReturnType<typeof html> {
  return html`
    <fieldset class="choices">
      <legend>What do you want?</legend>
      ${Object.entries(RESOURCE_LABELS).map(([name, label]) =>
        html`
          <label class="choice">
            <input type="radio" name="endpoint" value="${name}" ${name === resource && "checked"}>
            <span>${label}</span>
          </label>
        `
      )}
    </fieldset>
  `;
}

function renderRegions({ region }: Form): ReturnType<typeof html> {
  const isUnlisted = region !== "" && regionName(region) === undefined;
  return html`
    <label>Region
      <select name="region">
        <option value="">Everywhere</option>
        ${isUnlisted && html`<option value="${region}" selected>${region}</option>`}
        ${REGIONS.map(([label, regions]) =>
          html`
            <optgroup label="${label}">
              ${Object.entries(regions).map(([id, name]) =>
                html`<option value="${id}" ${id === region && "selected"}>${name}</option>`
              )}
            </optgroup>
          `
        )}
      </select>
    </label>
  `;
}

/** Suggestions that many datasets have: the input accepts any name. */
const SUGGESTED_CHARACTERISTICS: readonly string[] = [
  "Alkalinity, total",
  "Ammonia",
  "Arsenic",
  "Calcium",
  "Chloride",
  "Chlorophyll a",
  "Conductivity",
  "Dissolved oxygen (DO)",
  "Dissolved oxygen saturation",
  "Escherichia coli",
  "Hardness, Ca, Mg",
  "Iron",
  "Lead",
  "Magnesium",
  "Nitrate",
  "Nitrite",
  "Orthophosphate",
  "pH",
  "Phosphorus",
  "Salinity",
  "Specific conductance",
  "Sulfate",
  "Temperature, water",
  "Total dissolved solids",
  "Total Nitrogen, mixed forms",
  "Total Phosphorus, mixed forms",
  "Total suspended solids",
  "Turbidity",
];

function renderCharacteristics({ characteristic }: Form): ReturnType<typeof html> {
  return html`
    <label>Characteristic
      <input name="characteristic" list="characteristics" value="${characteristic}"
        autocomplete="off" placeholder="Any, for example pH">
    </label>
    <datalist id="characteristics">
      ${SUGGESTED_CHARACTERISTICS.map((name) => html`<option value="${name}"></option>`)}
    </datalist>
  `;
}

function renderInput(
  name: string,
  label: string,
  value: string,
  inputMode: "numeric" | "text",
  placeholder: string,
): ReturnType<typeof html> {
  return html`
    <label>${label}
      <input name="${name}" value="${value}" inputmode="${inputMode}" placeholder="${placeholder}"
        autocomplete="off">
    </label>
  `;
}

/** The script shows only the fields of the chosen resource. */
function renderFields(form: Form): ReturnType<typeof html> {
  return html`
    <details class="chooser" ${form.fields.length > 0 && "open"}>
      <summary>${FORM_LABELS.select} ${renderSelectedCount(form.fields.length)}</summary>
      ${(Object.keys(RESOURCES) as ResourceName[]).map((resource) =>
        html`
          <fieldset class="list" data-fields="${resource}">
            <legend>Fields of ${RESOURCE_LABELS[resource]}</legend>
            ${fieldNames(resource).map((field) =>
              renderCheckbox(
                "field",
                field,
                resource === form.resource && form.fields.includes(field),
                field,
              )
            )}
          </fieldset>
        `
      )}
    </details>
  `;
}

/** By number of days. */
const LINK_LIFETIMES: Record<string, string> = {
  1: "a day",
  7: "a week",
  30: "30 days",
  365: "a year",
};

function renderDays(days: string): ReturnType<typeof html> {
  // Keeps a number of days that is not in the list.
  const choices = { [days]: `${days} days`, ...LINK_LIFETIMES };
  return html`
    <label class="inline">Links are valid for
      <select name="days">
        ${Object.entries(choices).map(([value, label]) =>
          html`<option value="${value}" ${value === days && "selected"}>${label}</option>`
        )}
      </select>
    </label>
  `;
}
