/** Served as `/weir.js`. Without it, the page works, but cannot send keys or tokens in headers. */
export const SCRIPT = `const form = document.querySelector("form");
const results = document.querySelector("#results");
// Not form.dataset, which is the input with the name "dataset".
const access = form.getAttribute("data-access");
const credential = document.querySelector("#credential");
const showButton = form.querySelector("[type=submit]");
const formStatus = document.querySelector("#form-status");
// Settings of the results, read from the HTML: a browser may have restored other values in the form.
let resultSettings = settingsOf(new DOMParser().parseFromString(form.outerHTML, "text/html").forms[0]);
// Number of submissions that are still loading.
let loadingCount = 0;
// Aborts the request of the previous submission.
let resultsRequest = new AbortController();

for (const element of document.querySelectorAll("[data-script]")) element.hidden = false;
enableResults();
update();
for (const type of ["input", "change"]) form.addEventListener(type, formChanged);
form.addEventListener("submit", credential ? showResults : () => setLoading(loadingCount + 1));
// A browser may restore the form's values between the end of this script and this event. With
// "persisted", the back/forward cache restored the whole page.
addEventListener("pageshow", ({ persisted }) => persisted ? setLoading(0) : update());
// Fires after Stop, and for a submission that a later one replaces, after the later one.
if (!credential) window.navigation?.addEventListener("navigateerror", () => setLoading(loadingCount - 1));

/** Returns the header with the key or token, which is stored only in its input. */
function credentialHeader() {
  const value = credential?.value.trim();
  if (!value) return {};
  return access === "caller" ? { "x-api-key": value } : { authorization: "Bearer " + value };
}

/** Shows only the fields of the chosen resource. */
function showFields() {
  const { value } = form.elements.endpoint;
  for (const fields of document.querySelectorAll("[data-fields]")) {
    fields.hidden = fields.dataset.fields !== value;
    fields.disabled = fields.hidden;
  }
}

/** Returns the form's settings as a query string. It is equal for forms that select the same data. */
function settingsOf(element) {
  const pairs = [];
  for (const [name, value] of new FormData(element)) {
    if (name === "token" || name === "submission") continue;
    // A text field can contain several DOIs; a checkbox has one.
    for (const text of name === "dataset" ? value.split(/[\\s,;]+/) : [value.trim()]) {
      if (text) pairs.push(String(new URLSearchParams([[name, text]])));
    }
  }
  return [...new Set(pairs)].sort().join("&");
}

function formChanged() {
  if (credential || window.navigation) update();
  // Without the Navigation API, which reports that the user pressed Stop, assumes that nothing loads.
  else setLoading(0);
}

function setLoading(count) {
  loadingCount = Math.max(0, count);
  // The button is not disabled, so that the user can press it again after Stop.
  showButton.setAttribute("aria-busy", String(loadingCount > 0));
  update();
}

/** Updates the page after a change of the form. Blocks results that do not match it. */
function update() {
  showFields();
  const isStale = results.querySelector("#settings") !== null && settingsOf(form) !== resultSettings;
  for (const part of results.querySelectorAll(":scope > :not(h2, .notice, [role=status])")) {
    part.toggleAttribute("inert", isStale);
  }
  // Removing the URL also prevents copying a link or opening it in another tab.
  const [from, to] = isStale ? ["href", "data-href"] : ["data-href", "href"];
  for (const link of results.querySelectorAll("a[" + from + "]")) {
    link.setAttribute(to, link.getAttribute(from));
    link.removeAttribute(from);
  }
  for (const button of results.querySelectorAll(".copy")) button.disabled = isStale;
  for (const notice of results.querySelectorAll(".notice")) notice.hidden = !isStale;
  const text = loadingCount > 0
    ? "Loading…"
    : isStale
    ? "Settings changed: press Show to update."
    : "";
  // Setting the same text again would make screen readers repeat it.
  if (formStatus.textContent !== text) formStatus.textContent = text;
}

/** Loads the results within the page, so that the key or token stays in its input. */
async function showResults(event) {
  event.preventDefault();
  resultsRequest.abort();
  resultsRequest = new AbortController();
  const { signal } = resultsRequest;
  const settings = settingsOf(form);
  setLoading(1);
  try {
    const response = await fetch("/?" + settings, { headers: credentialHeader(), signal });
    if (!response.headers.get("content-type")?.startsWith("text/html")) throw await toError(response);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const content = page.querySelector("#results")?.childNodes;
    if (!content) throw new Error("unexpected response with status " + response.status);
    results.replaceChildren(...content);
    resultSettings = settings;
    // The list of datasets is known only with a key or token: replaces the text field by the list.
    const list = page.querySelector("details.chooser .list:not([data-fields])");
    const field = form.querySelector("input[name=dataset]:not([type=checkbox])");
    if (list && field) field.closest("fieldset").replaceWith(list.closest("details"));
  } catch (error) {
    // A later submission has aborted this one.
    if (signal.aborted) return;
    showError("The request failed (" + error.message + "). Press Show to try again.");
  }
  enableResults();
  setLoading(0);
  // If the user has changed the form in the meantime, the focus stays there.
  if (settingsOf(form) !== settings) return;
  const heading = results.querySelector("#results-heading");
  heading.focus({ preventScroll: true });
  heading.scrollIntoView();
}

/** Adds copy buttons to new results, and downloads with a header to their links. */
function enableResults() {
  for (const link of results.querySelectorAll("[data-needs-header]")) {
    link.hidden = false;
    link.addEventListener("click", downloadWithHeader);
  }
  // The clipboard API requires https: or localhost.
  if (!navigator.clipboard) return;
  for (const code of results.querySelectorAll(".snippets code")) {
    const title = document.getElementById(code.getAttribute("aria-labelledby")).firstChild;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + title.textContent.trim());
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Copy failed"; },
      );
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    code.after(button);
  }
}

/**
 * Downloads the URL of a link with a header, which a link cannot send: to a file if the browser has
 * showSaveFilePicker, otherwise to memory.
 */
async function downloadWithHeader(event) {
  event.preventDefault();
  // A blocked link has no URL.
  const { href } = event.currentTarget;
  if (!href) return;
  const status = document.querySelector("#download-status");
  const suggestedName = new URL(href).pathname.slice(1).toLowerCase();
  let file;
  try {
    if (window.showSaveFilePicker) file = await window.showSaveFilePicker({ suggestedName });
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = "The file dialog failed: " + error.message;
    return;
  }
  try {
    status.textContent = "Requesting the first page…";
    const response = await fetch(href, { headers: credentialHeader() });
    if (!response.ok) throw await toError(response);
    const disposition = response.headers.get("content-disposition") ?? "";
    const name = /filename="([^"]*)"/.exec(disposition)?.[1] ?? suggestedName;
    let bytes = 0;
    let reportedAt = 0;
    const body = response.body.pipeThrough(new TransformStream({
      transform(chunk, controller) {
        bytes += chunk.length;
        controller.enqueue(chunk);
        // At most every 5 s, because a screen reader reads each report aloud.
        if (Date.now() - reportedAt < 5000) return;
        reportedAt = Date.now();
        status.textContent = megabytes(bytes) + " received…";
      },
    }));
    if (file) await body.pipeTo(await file.createWritable());
    else saveBlob(await new Response(body).blob(), name);
    status.textContent = "Complete: " + megabytes(bytes);
  } catch (error) {
    // Removes the empty file that the dialog has created.
    await file?.remove?.().catch(() => {});
    status.textContent = "The download failed and no file was saved (" + error.message + "). Try again.";
  }
}

function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Converts a problem details object (RFC 9457), or any other unexpected response, to an error. */
async function toError(response) {
  const { detail, hint } = await response.json().catch(() => ({}));
  return new Error(detail ? [detail, hint].filter(Boolean).join(": ") : "status " + response.status);
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1) + " MB";
}

/** Replaces the results with an error message. */
function showError(text) {
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
