/** The page's script, as text: sends a key or token as a header, hides what does not apply, copies. */
export const SCRIPT = `const form = document.querySelector("form");
const results = document.querySelector("#results");
// Its field of that name hides form.dataset.
const access = form.getAttribute("data-access");
const credential = document.querySelector("#credential");
let asking = new AbortController();

for (const element of document.querySelectorAll("[data-script]")) element.hidden = false;
showFields();
form.addEventListener("change", showFields);
enhance();

/** A key or token goes with each request as a header, and is kept in its field alone. */
function headers() {
  const value = credential?.value.trim();
  if (!value) return {};
  return access === "caller" ? { "x-api-key": value } : { authorization: "Bearer " + value };
}

/** The fields of the chosen endpoint alone. */
function showFields() {
  const { value } = form.elements.endpoint;
  for (const fields of document.querySelectorAll("[data-fields]")) {
    fields.hidden = fields.dataset.fields !== value;
    fields.disabled = fields.hidden;
  }
}

if (credential) form.addEventListener("submit", show);

/** Shows the results without leaving the page, which keeps the key or token. */
async function show(event) {
  event.preventDefault();
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  tell(results, "status", "Asking …");
  try {
    const sent = new URLSearchParams(new FormData(form));
    sent.delete("token");
    const response = await fetch("/?" + sent, { headers: headers(), signal });
    if (!response.headers.get("content-type")?.startsWith("text/html")) throw await refusal(response);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const shown = page.querySelector("#results");
    if (!shown) throw new Error("no page, but status " + response.status);
    results.replaceChildren(...shown.childNodes);
    // Once the datasets are known, they can be chosen from a list.
    const known = page.querySelector("details.chooser .list:not([data-fields])");
    const typed = form.querySelector("input[name=dataset]:not([type=checkbox])");
    if (known && typed) typed.closest("fieldset").replaceWith(known.closest("details"));
  } catch (error) {
    // A later one has taken its place.
    if (signal.aborted) return;
    tell(results, "alert", "That could not be asked (" + error.message + "): try again");
  }
  enhance();
  results.focus();
}

/** What only a script can do with the results. */
function enhance() {
  for (const link of results.querySelectorAll("[data-needs-header]")) {
    link.hidden = false;
    link.addEventListener("click", download);
  }
  // Only a page that came by https:, or of this machine, may copy.
  if (!navigator.clipboard) return;
  for (const code of results.querySelectorAll(".lines code")) {
    const title = document.getElementById(code.getAttribute("aria-labelledby")).firstChild;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + title.textContent.trim());
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Not allowed"; },
      );
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    code.after(button);
  }
}

/** A link cannot send a header, so the rows are read here: to a file where a browser lets a page write one. */
async function download(event) {
  event.preventDefault();
  const link = event.currentTarget;
  const status = document.querySelector("#download-status");
  const suggestedName = new URL(link.href).pathname.slice(1).toLowerCase();
  let file;
  try {
    if (window.showSaveFilePicker) file = await window.showSaveFilePicker({ suggestedName });
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = "No file could be chosen: " + error.message;
    return;
  }
  try {
    status.textContent = "Asking for the first page …";
    const response = await fetch(link.href, { headers: headers() });
    if (!response.ok) throw await refusal(response);
    const disposition = response.headers.get("content-disposition") ?? "";
    const name = /filename="([^"]*)"/.exec(disposition)?.[1] ?? suggestedName;
    let bytes = 0;
    let said = 0;
    const counted = response.body.pipeThrough(new TransformStream({
      transform(piece, controller) {
        bytes += piece.length;
        controller.enqueue(piece);
        // A screen reader reads each of them.
        if (Date.now() - said < 5000) return;
        said = Date.now();
        status.textContent = megabytes(bytes) + " so far …";
      },
    }));
    if (file) await counted.pipeTo(await file.createWritable());
    else save(await new Response(counted).blob(), name);
    status.textContent = "Whole: " + megabytes(bytes);
  } catch (error) {
    // It was made empty when it was chosen.
    await file?.remove?.().catch(() => {});
    status.textContent = "The download broke, and nothing of it was kept (" + error.message + "): try again";
  }
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** What an answer that is none says: a problem, or just its status. */
async function refusal(response) {
  const { detail, hint } = await response.json().catch(() => ({}));
  return new Error(detail ? detail + ": " + hint : "status " + response.status);
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1) + " MB";
}

function tell(element, role, text) {
  const line = document.createElement("p");
  line.className = role;
  line.setAttribute("role", role);
  line.textContent = text;
  element.replaceChildren(line);
}
`;
