// The frame of each page: head, header, notices, footer, and the form.
import { html } from "hono/html";
import { KNOWN_VALUES, REGION_NAMES } from "../../src/odata/value_hints.ts";
import { MAX_SUGGESTIONS } from "../../src/validation.ts";
import { MIRROR_PATH } from "../downloads/mirror.ts";
import { shorten } from "../http/parameters.ts";
import type { AccessMode, Settings } from "../http/options.ts";
import { commonNames, nameInForm, nearCharacteristics, unknownNames } from "./characteristics.ts";
import { type Form, FORM_SIDES, type FormError, type MistakenField, pageUrl } from "./form.ts";
import { type DatasetInfo, namesOf, type Results } from "./load.ts";
import { SCRIPT_TEXTS } from "./scripts/script.ts";
import { GROUP_NAMES, type Html, LOCALES, type Text } from "./text.ts";

export interface View {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  content: Html;
  /** Before the name of the site. */
  title?: string;
  form?: Html;
  /** Whether the page shows results of the form: a phone folds the form then. */
  isFolded?: boolean;
  /** Whether the content is text to read, in short lines. */
  isText?: boolean;
}

const DOCUMENTATION = "https://jsr.io/@weir/datastream";

/** Returns the document of a view of the form. */
export function renderFrame(view: View, form: Form, settings: Settings): Html {
  const { title } = view;
  const { language, text } = form.locale;
  const other = language === "en" ? "fr" : "en";
  const otherUrl = pageUrl(form, { locale: LOCALES[other] });
  const scriptTexts = Object.fromEntries(SCRIPT_TEXTS.map((name) => [name, text[name]]));
  const links = html`
    <a href="/datasets?lang=${language}">${text.datasets}</a>
    ${settings.mirror && html`<a href="${MIRROR_PATH}?lang=${language}">${text.files}</a>`}
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
              <a class="language" href="${otherUrl}" hreflang="${other}" lang="${other}">${text
                .otherLanguage}</a>
              <a class="narrow" href="#menu">${text.menu}</a>
            </nav>
          </div>
          ${settings.synthetic && html`
            <p class="synthetic"><strong>${text.synthetic}</strong> ${text.syntheticNote}</p>
          `}
        </header>
        <main class="${view.isFolded ? "folded" : ""}" data-url="${pageUrl(form)}"
          data-texts="${JSON.stringify(scriptTexts)}">
          ${view.form}
          <div id="results" class="${view.isText ? "reading" : ""}" tabindex="-1" role="region"
            aria-label="${title ?? text.results}">${view.content}</div>
        </main>
        <footer>
          <p>${text.dataFrom} <a href="https://datastream.org">DataStream</a>; ${text.footer}</p>
          <nav id="menu" class="narrow" aria-label="${text.menu}">${links}</nav>
        </footer>
      </body>
    </html>
  `;
}

/** Renders a list of items with notes, of which empty ones are left out. */
export function renderItems(
  items: readonly (readonly [item: string | Html, ...notes: (string | undefined)[]])[],
): Html {
  const listed = items.map(([item, ...notes]) =>
    html`<li>${item} <p class="note">${notes.filter(Boolean).join(", ")}</p></li>`
  );
  return html`<ul class="datasets">${listed}</ul>`;
}

export interface FormContent {
  settings: Settings;
  form: Form;
  datasets: readonly DatasetInfo[] | undefined;
  results?: Results;
  mistake?: FormError | undefined;
}

export function renderForm(content: FormContent): Html {
  const { settings: { access }, form, datasets } = content;
  const { locale, characteristics } = form;
  const { language, text, characteristicName, regionName } = locale;
  const [first, last] = extentOf(datasets);
  return html`
    ${renderFold(content)}
    <form id="query" class="query" method="${methodOf(access)}" action="/#results"
      autocomplete="off">
      <input type="hidden" name="lang" value="${language}">
      ${renderCredential(access, text)}
      <div class="row">
        <div class="what">
          <label for="what">${text.what}</label>
          <div class="chips">
            ${characteristics.map((name) =>
              renderChip("characteristic", name, nameInForm(name, locale))
            )}
            <input id="what" name="characteristic" list="names" autocomplete="off" spellcheck="false"
              role="combobox" aria-autocomplete="list" aria-controls="suggestions" aria-expanded="false"
              placeholder="${characteristics.length > 0 ? text.addAnother : text.whatHint}">
          </div>
          <datalist id="names">
            ${Object.values(GROUP_NAMES).map((names) => renderSuggested(names[language]))}
            ${commonNames().map((name) => renderSuggested(name, characteristicName(name)))}
          </datalist>
          <div id="suggestions" hidden></div>
          ${renderUnknown(form)}
        </div>
        <div class="where">
          <label for="where">${text.where}</label>
          <input id="where" name="where" list="places" value="${form.where}"
            placeholder="${text.allOfCanada}" aria-describedby="where-note">
          <span id="where-note" class="hidden">${text.whereNote}</span>
          <datalist id="places">
            ${[...REGION_NAMES.keys()].map((id) => renderSuggested(regionName(id)))}
            ${datasets?.map(({ name }) => renderSuggested(name))}
          </datalist>
          ${renderMistake(content, "where")}
        </div>
        <fieldset class="years">
          <legend>${text.years}</legend>
          <input name="from" aria-label="${text.fromYear}" value="${form.from}" inputmode="numeric"
            placeholder="${first}">
          <span>${text.to}</span>
          <input name="to" aria-label="${text.toYear}" value="${form.to}" inputmode="numeric"
            placeholder="${last}">
          ${renderMistake(content, "years")}
        </fieldset>
        <button type="submit" class="show">${text.show}</button>
      </div>
      ${renderMore(content, text)}
      <p id="form-status" class="hidden" role="status"></p>
    </form>
  `;
}

/** Returns the form of a page without its own fields: the download needs the selection and the credential. */
export function renderShortForm(content: FormContent): Html {
  const { settings: { access }, form, mistake } = content;
  const { language, text } = form.locale;
  const isPublic = access === "public";
  return html`
    <form id="query" class="query" method="${methodOf(access)}" action="${pageUrl(form)}"
      ${isPublic && "hidden"}>
      <input type="hidden" name="lang" value="${language}">
      <input type="hidden" name="dataset" value="${form.datasets.join(",")}">
      ${renderCredential(access, text)}
      ${!isPublic && html`<button type="submit" class="show">${text.show}</button>`}
      ${mistake?.field && renderMistake(content, mistake.field)}
    </form>
  `;
}

/** Maximum number of names with near matches: all names of the list are compared with each. */
const MAX_WITH_NEAR = 5;

/** Renders names that are not in the list, the first ones with near matches. */
function renderUnknown(form: Form): Html[] {
  const { characteristics, locale } = form;
  return unknownNames(characteristics).map((name, i) => {
    const others = characteristics.filter((other) => other !== name);
    const near = i < MAX_WITH_NEAR ? nearCharacteristics(name, locale) : [];
    const links = near.slice(0, MAX_SUGGESTIONS).map((near) =>
      [nameInForm(near, locale), pageUrl(form, { characteristics: [...others, near] })] as const
    );
    return renderNear(locale.fill(locale.text.notInList, { name: shorten(name) }), links, form);
  });
}

/** Renders the mistake of a field. There are no results then. */
function renderMistake({ form, mistake }: FormContent, field: MistakenField): Html | undefined {
  if (mistake?.field !== field) return undefined;
  const { text, fill } = form.locale;
  const links = mistake.near.map((near) => [near, pageUrl(form, { where: near })] as const);
  const attributes = html`role="alert" tabindex="-1"`;
  return renderNear(fill(text[mistake.text], mistake.values), links, form, attributes);
}

function renderNear(
  sentence: string,
  links: readonly (readonly [name: string, url: string])[],
  { locale: { text } }: Form,
  attributes = html``,
): Html {
  return html`
    <p class="notice near" ${attributes}><strong>${sentence}</strong> ${links.map((
      [name, url],
      i,
    ) => html`${i > 0 ? ", " : text.near} <a href="${url}">${name}</a>`)}</p>
  `;
}

/** A key or token must not be in a URL, because URLs are logged. */
function methodOf(access: AccessMode): "get" | "post" {
  return access === "public" ? "get" : "post";
}

function renderSuggested(value: string, label = value): Html {
  return html`<option value="${value}">${label === value ? "" : label}</option>`;
}

/** Years of the first and the last result of all datasets. */
export function extentOf(datasets: readonly DatasetInfo[] = []): [first: string, last: string] {
  const years = datasets.flatMap(({ years }) => years).sort();
  return [years[0] ?? "", years.at(-1) ?? ""];
}

/** Selected value that can be removed without a script. */
export function renderChip(name: string, value: string, label: string): Html {
  return html`
    <label
      class="chip"><input type="checkbox" name="${name}" value="${value}" checked>${shorten(label)}
      <span aria-hidden="true">×</span></label>
  `;
}

/** Names the places, datasets and further filters of the form; empty for all of Canada. */
export function describePlace({ form, datasets, results }: FormContent): string {
  const { text, valueName } = form.locale;
  const nameOf = namesOf(results);
  return [
    results?.placeName || form.where,
    ...form.datasets.map((doi) => datasets?.find((dataset) => dataset.doi === doi)?.name ?? doi),
    ...form.locations.map((id) => nameOf(String(id))),
    valueName(form.medium),
    valueName(form.type),
    FORM_SIDES.some((side) => form[side] !== "") &&
    `${text.boxOnMap} ${describeBox(form)}`,
  ].filter((part) => part).map((part) => shorten(String(part))).join(", ");
}

export function describeBox({ west, east, south, north, locale: { text: { to } } }: Form): string {
  return `${west} ${to} ${east}, ${south} ${to} ${north}`;
}

function renderFold(content: FormContent): Html {
  const { characteristics, from, to, locale } = content.form;
  const { text, formatYears } = locale;
  const what = characteristics.map((name) => shorten(nameInForm(name, locale))).join(", ");
  const where = [describePlace(content) || text.allOfCanada, formatYears(from, to)];
  return html`
    <div class="fold">
      <p><strong>${what || text.everything}</strong><br>${where.filter(Boolean).join(", ")}</p>
      <a class="button" href="#what">${text.change}</a>
    </div>
  `;
}

function renderCredential(access: AccessMode, text: Text): Html | undefined {
  if (access === "public") return undefined;
  const isKey = access === "caller";
  return html`
    <div class="credential">
      <label for="credential">${isKey ? text.key : text.token}</label>
      <input id="credential" name="token" type="password" autocomplete="off" spellcheck="false"
        aria-describedby="credential-note">
      <p id="credential-note">${isKey ? text.keyNote : text.tokenNote}</p>
    </div>
  `;
}

function renderMore(content: FormContent, text: Text): Html {
  const { form, results } = content;
  const { datasets, locations, locale } = form;
  const nameOf = namesOf(results);
  const isOpen = datasets.length > 0 || locations.length > 0 ||
    ([...FORM_SIDES, "medium", "type"] as const).some((name) => form[name] !== "");
  return html`
    <details class="more" ${isOpen && "open"}>
      <summary><span>${text.moreFilters}</span> <small>${text.moreFiltersNote}</small></summary>
      ${locations.map((id) => renderChip("location", String(id), nameOf(String(id))))}
      <div class="row">
        <label>${text.dataset}
          <input name="dataset" value="${datasets.join(", ")}" placeholder="${text.datasetHint}">
        </label>
        ${renderSelect("medium", text.medium, "ActivityMediaName", form)}
        ${renderSelect("type", text.placeType, "MonitoringLocationType", form)}
      </div>
      <fieldset id="box" class="box">
        <legend>${text.boxInDegrees}</legend>
        ${FORM_SIDES.map((side) =>
          html`<label>${text[side]}<input name="${side}" value="${form[side]}"></label>`
        )}
      </fieldset>
      ${renderMistake(content, "box")}
    </details>
    <a class="clear" href="/?lang=${locale.language}">${text.clear}</a>
  `;
}

function renderSelect(name: "medium" | "type", label: string, field: string, form: Form): Html {
  const { text, valueName } = form.locale;
  const known = KNOWN_VALUES[field]!.map(([value]) => value!);
  const options = [...new Set(["", ...known, form[name]])].map((value) =>
    html`<option value="${value}" ${value === form[name] && "selected"}>${
      value === "" ? text.any : valueName(value)
    }</option>`
  );
  return html`<label>${label} <select name="${name}">${options}</select></label>`;
}
