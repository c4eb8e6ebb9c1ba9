// The page with the files of the mirror, and their list.
import { html } from "hono/html";
import { type ListedFile, MIRROR_JSON } from "../downloads/mirror.ts";
import type { Settings } from "../http/options.ts";
import type { Form } from "./form.ts";
import { renderItems, renderShortForm, type View } from "./html.ts";
import { formatMinute, type Html, type Locale } from "./text.ts";

export function renderMirror(
  settings: Settings,
  form: Form,
  { created, files }: { created?: string | undefined; files: readonly ListedFile[] },
): View {
  const { text } = form.locale;
  const content = html`
    <h1>${text.files}</h1>
    ${renderFiles(settings, form.locale, files)}
    <p class="note">${created && formatMinute(created)} ${settings.access === "public" &&
      html`<a href="${MIRROR_JSON}">JSON</a>`}</p>
  `;
  const shortForm = renderShortForm({ settings, form, datasets: undefined });
  return { title: text.files, content, form: shortForm, isText: true };
}

export function renderFiles(
  { access }: Settings,
  { text, formatBytes, formatPlural }: Locale,
  files: readonly ListedFile[],
): Html {
  // A link of a page cannot send a key or token.
  const isLinked = access === "public" || access === "signed";
  const note = { caller: text.filesKey, token: text.filesToken, public: "", signed: "" }[access];
  const items = files.map(({ path, bytes, rows, dataset, version, published = "", url }) => {
    return [
      isLinked ? html`<a href="${url}">${path}</a>` : html`${path} <code>${url}</code>`,
      rows === undefined ? "" : formatPlural("rows", rows),
      formatBytes(bytes),
      dataset,
      version && `${text.version} ${version}`,
      published.slice(0, 10),
    ] as const;
  });
  return html`<p>${text.filesNote} ${note}</p>${renderItems(items)}`;
}
