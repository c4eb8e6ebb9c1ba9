// The list of suggested characteristics, which the script requests while a name is typed.
import { html } from "hono/html";
import { groupName, nameInForm, nearCharacteristics } from "./characteristics.ts";
import { renderChip } from "./html.ts";
import { groupBy } from "./series.ts";
import { type Html, type Locale, LOCALES } from "./text.ts";

const MAX_TEXT_LENGTH = 100;
const MAX_SUGGESTED = 12;
const MAX_OF_GROUP = 5;

/** Renders near names by group, in the order of their nearest one. */
export function renderSuggestions(typed: string, locale: Locale): Html {
  const text = typed.trim().slice(0, MAX_TEXT_LENGTH);
  const labelOf = (name: string) => groupName(name, locale);
  const found = nearCharacteristics(text, locale);
  const shown = [...groupBy(found, labelOf).values()]
    .flatMap((names) => names.slice(0, MAX_OF_GROUP)).slice(0, MAX_SUGGESTED);
  if (shown.length === 0) return html``;
  const more = found.length - shown.length;
  const { text: texts, formatPlural } = locale;
  return html`
    <div role="listbox" aria-label="${texts.suggestions}">
      ${[...groupBy(shown, labelOf)].map(([label, names]) =>
        html`
          <div role="group" aria-label="${label}">
            <div class="group" role="presentation">${label}</div>
            ${names.map((name) => renderOption(name, text, locale))}
          </div>
        `
      )}
    </div>
    ${more > 0 && html`<p class="foot">${formatPlural("moreNames", more)}</p>`}
  `;
}

/** The template is the chip that the script adds to the form. The French name is beside the English one. */
function renderOption(name: string, text: string, locale: Locale): Html {
  const french = LOCALES.fr.characteristicName(name);
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  const end = at + text.length;
  const marked = at < 0
    ? name
    : html`${name.slice(0, at)}<b>${name.slice(at, end)}</b>${name.slice(end)}`;
  const small = french[0]!.toLowerCase() + french.slice(1);
  const chip = renderChip("characteristic", name, nameInForm(name, locale));
  return html`
    <div role="option" aria-selected="false"
      data-name="${name}"><span>${marked}</span>${french !== name &&
        html`<small lang="fr">${small}</small>`}<template>${chip}</template></div>
  `;
}
