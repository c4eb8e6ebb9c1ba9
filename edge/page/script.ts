/**
 * Source text of the page's script.
 *
 * It sends a key or token as a header, hides fields of other endpoints, copies lines, blocks results
 * that have other settings than the form, and says that results are loading.
 */
export const SCRIPT = `const form = document.querySelector("form");
const results = document.querySelector("#results");
// Its field of that name hides form.dataset.
const access = form.getAttribute("data-access");
const credential = document.querySelector("#credential");
const showButton = form.querySelector("[type=submit]");
const formStatus = document.querySelector("#form-status");
// Settings of the results. The attributes are what the server wrote; a browser may have restored values.
let shown = settingsOf(new DOMParser().parseFromString(form.outerHTML, "text/html").forms[0]);
// Number of times that the form was sent and neither answered nor stopped.
let loading = 0;
let asking = new AbortController();

for (const element of document.querySelectorAll("[data-script]")) element.hidden = false;
enhance();
update();
for (const type of ["input", "change"]) form.addEventListener(type, formChanged);
form.addEventListener("submit", credential ? show : () => setLoading(loading + 1));
// A browser restores a form's values before this event, but not always before this script.
addEventListener("pageshow", ({ persisted }) => persisted ? setLoading(0) : update());
// Fires after Stop, and for a request that a second submit replaces: then after that submit.
if (!credential) window.navigation?.addEventListener("navigateerror", () => setLoading(loading - 1));

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

/** Returns the form's settings as a query string, equal for forms that select the same data. */
function settingsOf(element) {
  const pairs = [];
  for (const [name, value] of new FormData(element)) {
    if (name === "token" || name === "attempt") continue;
    // A text field holds several DOIs, a checkbox one.
    for (const text of name === "dataset" ? value.split(/[\\s,;]+/) : [value.trim()]) {
      if (text) pairs.push(String(new URLSearchParams([[name, text]])));
    }
  }
  return [...new Set(pairs)].sort().join("&");
}

function formChanged() {
  if (credential || window.navigation) update();
  // A browser without this API does not tell a script that the user pressed Stop.
  else setLoading(0);
}

function setLoading(count) {
  loading = Math.max(0, count);
  // Not disabled: after Stop, the user can press it again.
  showButton.setAttribute("aria-busy", String(loading > 0));
  update();
}

/** Updates what depends on the form's settings. Blocks results that have other settings. */
function update() {
  showFields();
  const isStale = results.querySelector("#settings") !== null && settingsOf(form) !== shown;
  for (const part of results.querySelectorAll(":scope > :not(h2, .notice, [role=status])")) {
    part.toggleAttribute("inert", isStale);
  }
  // Without its address, a link cannot be opened in another tab or copied either.
  const [from, to] = isStale ? ["href", "data-href"] : ["data-href", "href"];
  for (const link of results.querySelectorAll("a[" + from + "]")) {
    link.setAttribute(to, link.getAttribute(from));
    link.removeAttribute(from);
  }
  for (const button of results.querySelectorAll("button")) button.disabled = isStale;
  for (const notice of results.querySelectorAll(".notice")) notice.hidden = !isStale;
  const text = loading > 0
    ? "Loading…"
    : isStale
    ? "Settings changed: press Show to update."
    : "";
  // A screen reader would repeat the same text.
  if (formStatus.textContent !== text) formStatus.textContent = text;
}

/** Shows the results without leaving the page, so that the key or token stays in its field. */
async function show(event) {
  event.preventDefault();
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const sent = settingsOf(form);
  setLoading(1);
  try {
    const response = await fetch("/?" + sent, { headers: headers(), signal });
    if (!response.headers.get("content-type")?.startsWith("text/html")) throw await refusal(response);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const answer = page.querySelector("#results");
    if (!answer) throw new Error("no page, but status " + response.status);
    results.replaceChildren(...answer.childNodes);
    shown = sent;
    // Once the datasets are known, they can be chosen from a list.
    const known = page.querySelector("details.chooser .list:not([data-fields])");
    const typed = form.querySelector("input[name=dataset]:not([type=checkbox])");
    if (known && typed) typed.closest("fieldset").replaceWith(known.closest("details"));
  } catch (error) {
    // A later one has taken its place.
    if (signal.aborted) return;
    fail("The request failed (" + error.message + "). Press Show to try again.");
  }
  enhance();
  setLoading(0);
  // The user has changed the form since.
  if (settingsOf(form) !== sent) return;
  const heading = results.querySelector("#results-heading");
  heading.focus({ preventScroll: true });
  heading.scrollIntoView();
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
  // The address goes when the form changes.
  const { href } = event.currentTarget;
  if (!href) return;
  const status = document.querySelector("#download-status");
  const suggestedName = new URL(href).pathname.slice(1).toLowerCase();
  let file;
  try {
    if (window.showSaveFilePicker) file = await window.showSaveFilePicker({ suggestedName });
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = "No file could be chosen: " + error.message;
    return;
  }
  try {
    status.textContent = "Asking for the first page …";
    const response = await fetch(href, { headers: headers() });
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

function fail(text) {
  const heading = document.createElement("h2");
  heading.id = "results-heading";
  heading.tabIndex = -1;
  heading.textContent = "No results";
  const alert = document.createElement("p");
  alert.className = "alert";
  alert.setAttribute("role", "alert");
  alert.textContent = text;
  results.replaceChildren(heading, alert);
}
`;
