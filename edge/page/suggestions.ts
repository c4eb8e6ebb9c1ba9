// The list of suggested characteristics, which the script requests while a name is typed.
import { html } from "hono/html";
import { groupName, nameInForm, nearCharacteristics } from "./characteristics.ts";
import { renderChip } from "./html.ts";
import { type Html, type Locale, LOCALES } from "./text.ts";

const MAX_TEXT_LENGTH = 100;
const MAX_SUGGESTED = 12;

/** Renders near names in the order of the command line. Neighbours of one group have its name above them. */
export function renderSuggestions(typed: string, locale: Locale): Html {
  const text = typed.trim().slice(0, MAX_TEXT_LENGTH);
  const found = nearCharacteristics(text, locale);
  if (found.length === 0) return html``;
  const groups: { label: string; names: string[] }[] = [];
  for (const name of found.slice(0, MAX_SUGGESTED)) {
    const label = groupName(name, locale);
    if (groups.at(-1)?.label !== label) groups.push({ label, names: [] });
    groups.at(-1)!.names.push(name);
  }
  const more = found.length - MAX_SUGGESTED;
  const { text: texts, formatPlural } = locale;
  return html`
    <div role="listbox" aria-label="${texts.suggestions}">
      ${groups.map(({ label, names }) =>
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
