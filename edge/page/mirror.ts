// The page with the files of the mirror.
import { html } from "hono/html";
import { type ListedFile, MIRROR_JSON } from "../downloads/mirror.ts";
import type { Settings } from "../http/options.ts";
import type { Form } from "./form.ts";
import { renderShortForm, type View } from "./html.ts";

export function renderMirror(
  settings: Settings,
  form: Form,
  { created = "", files }: { created?: string | undefined; files: readonly ListedFile[] },
): View {
  const { access } = settings;
  const { text, formatBytes, formatPlural } = form.locale;
  // A link of a page cannot send a key or token.
  const isLinked = access === "public" || access === "signed";
  const note = { caller: text.filesKey, token: text.filesToken, public: "", signed: "" }[access];
  const items = files.map(({ path, bytes, rows, dataset, version, published = "", url }) => {
    const facts = [
      rows === undefined ? "" : formatPlural("rows", rows),
      formatBytes(bytes),
      dataset,
      [version && `${text.version} ${version}`, published.slice(0, 10)].filter(Boolean).join(", "),
    ];
    return html`
      <li>${isLinked ? html`<a href="${url}">${path}</a>` : html`${path} <code>${url}</code>`}
        <p class="note">${facts.filter(Boolean).join(", ")}</p></li>
    `;
  });
  const content = html`
    <h1>${text.files}</h1>
    <p>${text.filesNote} ${note} ${access === "public" &&
      html`<a href="${MIRROR_JSON}">JSON</a>`}</p>
    <p class="note">${[created.slice(0, 16).replace("T", " "), created && "UTC"].join(" ")
      .trim()}</p>
    <ul class="datasets">${items}</ul>
  `;
  const shortForm = renderShortForm({ settings, form, datasets: undefined });
  return { title: text.files, content, form: shortForm, isText: true };
}
