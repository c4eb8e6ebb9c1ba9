// The frame of each page: head, header, notices, footer, and the form.
import { html } from "hono/html";
import { KNOWN_VALUES } from "../../src/odata/value_hints.ts";
import { shorten } from "../downloads/parameters.ts";
import type { AccessMode } from "../options.ts";
import { characteristicName, commonNames, findCharacteristic } from "./characteristics.ts";
import type { Html } from "./drawing_text.ts";
import type { Form } from "./form.ts";
import type { DatasetInfo, Results } from "./load.ts";
import { SCRIPT_TEXTS } from "./scripts/page.ts";
import { GROUP_NAMES, type Language, regionsIn, type Text, TEXTS, valueName } from "./text.ts";

export type { Html };

export interface PageFrame {
  language: Language;
  isSynthetic: boolean;
  /** URL of this state of the page. */
  url: string;
  /** URL of the same page in the other language. */
  otherLanguage: string;
  /** Before the name of the site. */
  title?: string | undefined;
  /** Whether the page shows results of a form: a phone folds the form then. */
  isFolded?: boolean;
}

const DOCUMENTATION = "https://jsr.io/@weir/datastream";

export function renderFrame(frame: PageFrame, content: Html): Html {
  const { language, isSynthetic, url, otherLanguage, title, isFolded = false } = frame;
  const text = TEXTS[language];
  const other = language === "en" ? "fr" : "en";
  const links = html`
    <a href="/datasets?lang=${language}">${text.datasets}</a>
    <a href="/fields?lang=${language}">${text.fields}</a>
    <a href="${DOCUMENTATION}">${text.documentation}</a>
  `;
  return html`
    <!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex, nofollow">
        <title>${title === undefined ? text.title : `${title} – Weir`}</title>
        <link rel="icon" href="/weir.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/weir.css">
        <script src="/weir.js" type="module"></script>
      </head>
      <body>
        <a class="skip" href="#results">${text.skip}</a>
        <header>
        <div class="top">
              <a class="brand" href="/?lang=${language}"><img src="/weir.svg" alt="" width="32"
                height="32"><strong>Weir</strong></a>
              <p class="tagline">${text.tagline}</p>
              <nav>
                <span class="wide">${links}</span>
                <a class="language" href="${otherLanguage}" hreflang="${other}" lang="${other}">${text
                  .otherLanguage}</a>
                <a class="narrow" href="#menu">${text.menu}</a>
              </nav>
            </div>
            ${isSynthetic && html`
              <p class="synthetic"><strong>${text.synthetic}</strong> ${text.syntheticNote}</p>
            `}
        </header>
        <main class="${isFolded ? "folded" : ""}" data-url="${url}" data-texts="${scriptTexts(
          text,
        )}">${content}</main>
        <footer>
          <p>${text.dataFrom} <a href="https://datastream.org">DataStream</a>; ${text
            .footer}</p>
          <nav id="menu" class="narrow" aria-label="${text.menu}">${links}</nav>
        </footer>
      </body>
    </html>
  `;
}

function scriptTexts(text: Text): string {
  return JSON.stringify(Object.fromEntries(SCRIPT_TEXTS.map((name) => [name, text[name]])));
}

export interface FormContent {
  access: AccessMode;
  form: Form;
  datasets: readonly DatasetInfo[] | undefined;
  results: Results | undefined;
}

export function renderForm({ access, form, datasets, results }: FormContent): Html {
  const text = TEXTS[form.language];
  const method = access === "signed" || access === "token" ? "post" : "get";
  const [first = "", last = ""] = extentOf(datasets);
  return html`
    ${renderFold(form, results?.placeName ?? form.where, text)}
    <form id="query" class="query" method="${method}" action="/#results" autocomplete="off"
      data-access="${access}">
      <input type="hidden" name="lang" value="${form.language}">
      ${renderCredential(access, text)}
      <div class="row">
        <div class="what">
          <label for="what">${text.what}</label>
          <div class="chips">
            ${form.characteristics.map((name) =>
              renderChip("characteristic", name, nameInForm(name, form.language))
            )}
            <input id="what" name="characteristic" list="names" autocomplete="off" spellcheck="false"
              placeholder="${form.characteristics.length > 0 ? text.addAnother : text.whatHint}">
          </div>
          <datalist id="names">
            ${Object.values(GROUP_NAMES[form.language]).map((name) =>
              html`<option value="${name}"></option>`
            )}
            ${commonNames().map((name) => {
              const local = characteristicName(name, form.language);
              return html`<option value="${name}">${local === name ? "" : local}</option>`;
            })}
          </datalist>
          <div id="suggestions" hidden></div>
        </div>
        <div class="where">
          <label for="where">${text.where}</label>
          <input id="where" name="where" list="places" value="${form.where}"
            placeholder="${text.allOfCanada}" aria-describedby="where-note">
          <span id="where-note" class="hidden">${text.whereNote}</span>
          <datalist id="places">
            ${regionsIn(form.language).map(([, name]) => html`<option value="${name}"></option>`)}
            ${datasets?.map(({ name }) => html`<option value="${name}"></option>`)}
          </datalist>
        </div>
        <fieldset class="years">
          <legend>${text.years}</legend>
          <input name="from" aria-label="${text.fromYear}" value="${form.from}" inputmode="numeric"
            placeholder="${first}">
          <span>${text.to}</span>
          <input name="to" aria-label="${text.toYear}" value="${form.to}" inputmode="numeric"
            placeholder="${last}">
        </fieldset>
        <button type="submit" class="show">${text.show}</button>
      </div>
      ${renderMore(access, form, text, results)}
      <p id="form-status" class="hidden" role="status"></p>
    </form>
  `;
}

/** Years of the first and the last result of all datasets. */
export function extentOf(datasets: readonly DatasetInfo[] | undefined): readonly string[] {
  const years = datasets?.flatMap(({ years }) => years).sort() ?? [];
  return years.length === 0 ? [] : [years[0]!, years.at(-1)!];
}

export function nameInForm(text: string, language: Language): string {
  const { names, group } = findCharacteristic(text);
  if (group !== undefined) return GROUP_NAMES[language][group];
  return names.length === 1 ? characteristicName(names[0]!, language) : text;
}

/** Selected value that can be removed without a script. */
function renderChip(name: string, value: string, label: string): Html {
  return html`
    <label
      class="chip"><input type="checkbox" name="${name}" value="${value}" checked>${label}
      <span aria-hidden="true">×</span></label>
  `;
}

/** The form in a line, on phones. */
function renderFold(form: Form, place: string, text: Text): Html {
  const what = form.characteristics.map((name) => shorten(nameInForm(name, form.language)))
    .join(", ");
  const years = [form.from, form.to].filter((year) => year !== "").join("–");
  return html`
    <div
      class="fold"><p><strong>${what || text.everything}</strong><br>${[
        shorten(place) || text.allOfCanada,
        years,
      ].filter((part) => part !== "").join(", ")}</p><a class="button" href="#query">${text
        .change}</a></div>
  `;
}

function renderCredential(access: AccessMode, text: Text): Html | undefined {
  if (access === "public") return undefined;
  const isKey = access === "caller";
  // The input has no name, so that without JavaScript the key does not get into the URL.
  const attributes = isKey ? html`hidden data-script` : undefined;
  const name = isKey ? undefined : html`name="token"`;
  return html`
    <div class="credential" ${attributes}>
      <label for="credential">${isKey ? text.key : text.token}</label>
      <input id="credential" type="password" autocomplete="off" spellcheck="false"
        aria-describedby="credential-note" ${name}>
      <p id="credential-note">${isKey ? text.keyNote : text.tokenNote}</p>
    </div>
    ${isKey && html`<noscript><p class="note">${text.keyNoScript}</p></noscript>`}
  `;
}

function renderMore(
  access: AccessMode,
  form: Form,
  text: Text,
  results: Results | undefined,
): Html {
  const { west, south, east, north, medium, type, datasets, locations } = form;
  const isOpen = [west, south, east, north, medium, type].some((value) => value !== "") ||
    datasets.length > 0 || locations.length > 0;
  const nameOf = (id: number) =>
    results?.locations.list.find((location) => location.id === String(id))?.name ?? `Id ${id}`;
  return html`
    <details class="more" ${isOpen && "open"}>
      <summary><span>${text.moreFilters}</span> <small>${text.moreFiltersNote}</small></summary>
      ${locations.map((id) => renderChip("location", String(id), nameOf(id)))}
      <div class="row">
        <label>${text.dataset}
          <input name="dataset" value="${datasets.join(", ")}" placeholder="${text.datasetHint}">
        </label>
        ${renderSelect("medium", text.medium, valuesOf("ActivityMediaName"), medium, form.language)}
        ${renderSelect(
          "type",
          text.placeType,
          valuesOf("MonitoringLocationType"),
          type,
          form.language,
        )}
        ${access === "signed" && html`
          <label>${text.linkDays}<input name="days" value="${form
            .days}" inputmode="numeric"></label>
        `}
      </div>
      <fieldset id="box" class="box">
        <legend>${text.box}</legend>
        ${(["west", "south", "east", "north"] as const).map((side) =>
          html`
            <label>${text[side]}<input name="${side}" value="${form[
              side
            ]}" inputmode="text"></label>
          `
        )}
      </fieldset>
    </details>
    <a class="clear" href="/?lang=${form.language}">${text.clear}</a>
  `;
}

const valuesOf = (field: string) => KNOWN_VALUES[field]!.map(([value]) => value!);

function renderSelect(
  name: string,
  label: string,
  known: readonly string[],
  selected: string,
  language: Language,
): Html {
  const values = selected === "" || known.includes(selected) ? known : [selected, ...known];
  return html`
    <label>${label}
      <select name="${name}">
        <option value="">${TEXTS[language].any}</option>
        ${values.map((value) =>
          html`<option value="${value}" ${value === selected && "selected"}>${
            valueName(value, language)
          }</option>`
        )}
      </select>
    </label>
  `;
}
