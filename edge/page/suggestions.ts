// The list of suggested characteristics, which the script requests while a name is typed.
import { html } from "hono/html";
import {
  characteristicName,
  groupName,
  nameInForm,
  nearCharacteristics,
} from "./characteristics.ts";
import { renderChip } from "./html.ts";
import { groupBy } from "./series.ts";
import { fill, type Html, type Language, TEXTS } from "./text.ts";

const MAX_TEXT_LENGTH = 100;
const MAX_SUGGESTED = 12;
const MAX_OF_GROUP = 5;

/** Renders near names by group, in the order of their nearest one. */
export function renderSuggestions(typed: string, language: Language): Html {
  const text = typed.trim().slice(0, MAX_TEXT_LENGTH);
  const labelOf = (name: string) => groupName(name, language);
  const found = nearCharacteristics(text, language);
  const shown = [...groupBy(found, labelOf).values()]
    .flatMap((names) => names.slice(0, MAX_OF_GROUP)).slice(0, MAX_SUGGESTED);
  if (shown.length === 0) return html``;
  const more = found.length - shown.length;
  const texts = TEXTS[language];
  return html`
    <div role="listbox" aria-label="${texts.suggestions}">
      ${[...groupBy(shown, labelOf)].map(([label, names]) =>
        html`
          <div role="group" aria-label="${label}">
            <div class="group" role="presentation">${label}</div>
            ${names.map((name) => renderOption(name, text, language))}
          </div>
        `
      )}
    </div>
    ${more > 0 && html`<p class="foot">${fill(texts.moreNames, { n: more }, language)}</p>`}
  `;
}

/** The template is the chip that the script adds to the form. The French name is beside the English one. */
function renderOption(name: string, text: string, language: Language): Html {
  const french = characteristicName(name, "fr");
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  const end = at + text.length;
  const marked = at < 0
    ? name
    : html`${name.slice(0, at)}<b>${name.slice(at, end)}</b>${name.slice(end)}`;
  const small = french[0]!.toLowerCase() + french.slice(1);
  const chip = renderChip("characteristic", name, nameInForm(name, language));
  return html`
    <div role="option" aria-selected="false"
      data-name="${name}"><span>${marked}</span>${french !== name &&
        html`<small lang="fr">${small}</small>`}<template>${chip}</template></div>
  `;
}
