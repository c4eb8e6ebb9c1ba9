import { html } from "hono/html";
import { fieldNames, type ResourceName, RESOURCES } from "../../src/odata/resources.ts";
import type { AccessMode } from "../downloads/app_options.ts";
import type { Form } from "./form.ts";
import { CHARACTERISTICS, REGIONS } from "./regions.ts";
import type { Html } from "./results.ts";

/** A dataset to choose. */
export interface DatasetChoice {
  DOI: string;
  DatasetName: string;
}

/** What the page is made of. */
export interface Document {
  access: AccessMode;
  synthetic: boolean;
  form: Form;
  /** The datasets to choose from; undefined where they are not known. */
  datasets: readonly DatasetChoice[] | undefined;
  /** What is wrong, and what to do. */
  alert: string | undefined;
  results: Html | undefined;
}

const ENDPOINTS: Record<ResourceName, string> = {
  Records: "every column, for a file",
  Observations: "what was measured",
  Locations: "where it was measured",
  Metadata: "the datasets",
};
const DAYS: Record<string, string> = { 1: "a day", 7: "a week", 30: "30 days", 365: "a year" };

/** The page, whole. */
export function renderDocument(document: Document): Html {
  const { access, synthetic, form, alert, results } = document;
  return html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex, nofollow">
        <title>Weir: open water-quality data to download</title>
        <link rel="icon" href="/weir.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/weir.css">
        <script src="/weir.js" type="module"></script>
      </head>
      <body>
        <a class="skip" href="#results">Skip to the results</a>
        <header>
          <div>
            <img src="/weir.svg" alt="" width="44" height="44">
            <div>
              <h1>Weir</h1>
              <p>Canada’s open water-quality data, as a file or a link to one</p>
            </div>
          </div>
        </header>
        <main>
      ${synthetic &&
        html`
          <p
            class="notice"><strong>Synthetic data.</strong> This server is for trying out: nothing here was ever measured.</p>
        `}
      <form method="${access === "signed" || access === "token"
        ? "post"
        : "get"}" action="/" data-access="${access}">
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
        ${renderDatasets(document)}
        <div class="columns">
          <fieldset>
            <legend>Region and characteristic</legend>
            <label>Region
              <select name="region">
                <option value="">Everywhere</option>
                ${REGIONS.map(([label, regions]) =>
                  html`<optgroup label="${label}">${
                    Object.entries(regions).map(([id, name]) =>
                      html`<option value="${id}" ${
                        id === form.region && "selected"
                      }>${name}</option>`
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
      </form>
      <section id="results" tabindex="-1" aria-label="Results">
        ${alert && html`<p class="alert" role="alert">${alert}</p>`}
        ${results}
      </section>
        </main>
        <footer>
          <p>Data of <a href="https://datastream.org">DataStream</a>, each dataset under a licence of its own. Weir is not part of that service.</p>
        </footer>
      </body>
    </html>
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

function renderDatasets({ datasets, form }: Document): Html {
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

/** The fields of each endpoint; the script shows those of the chosen one alone. */
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
  return html`<label class="inline">Links hold for
        <select name="days">${
    Object.entries(DAYS).map(([value, label]) =>
      html`<option value="${value}" ${value === days && "selected"}>${label}</option>`
    )
  }</select>
      </label>`;
}
