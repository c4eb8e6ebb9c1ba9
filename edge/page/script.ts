/** The page's script, as text: sends a key or token as a header, hides what does not apply, copies. */
export const SCRIPT = `const form = document.querySelector("form");
const results = document.querySelector("#results");
// Its field of that name hides form.dataset.
const access = form.getAttribute("data-access");
const credential = document.querySelector("#credential");

for (const element of document.querySelectorAll("[data-script]")) element.hidden = false;
showFields();
form.addEventListener("change", showFields);
enhance();

/** A key or token goes with each request as a header, and is kept in its field alone. */
function headers() {
  if (!credential || credential.value === "") return {};
  const value = credential.value.trim();
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

if (credential) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.setAttribute("aria-busy", "true");
    try {
      const sent = new URLSearchParams(new FormData(form));
      sent.delete("token");
      const response = await fetch("/?" + sent, { headers: headers() });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      results.replaceChildren(...page.querySelector("#results").childNodes);
      // Once the datasets are known, they can be chosen from a list.
      const known = page.querySelector("details.chooser .list:not([data-fields])");
      const typed = form.querySelector("input[name=dataset]:not([type=checkbox])");
      if (known && typed) typed.closest("fieldset").replaceWith(known.closest("details"));
    } catch (error) {
      tell(results, "alert", "The server did not answer (" + error.message + "): try again");
    } finally {
      button.removeAttribute("aria-busy");
    }
    enhance();
    results.focus();
  });
}

/** What only a script can do with the results. */
function enhance() {
  for (const link of results.querySelectorAll("[data-needs-header]")) {
    link.hidden = false;
    link.addEventListener("click", download);
  }
  for (const code of results.querySelectorAll(".lines code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-describedby", code.getAttribute("aria-labelledby"));
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
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
  const say = (text) => tell(status, "", text);
  try {
    const suggested = new URL(link.href).pathname.slice(1).toLowerCase();
    const file = window.showSaveFilePicker && await window.showSaveFilePicker({ suggestedName: suggested });
    say("Asking for the first page …");
    const response = await fetch(link.href, { headers: headers() });
    if (!response.ok) {
      const { detail, hint } = await response.json();
      return say(detail + ": " + hint);
    }
    const name = /filename="([^"]*)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? suggested;
    let bytes = 0;
    const counted = response.body.pipeThrough(new TransformStream({
      transform(piece, controller) {
        bytes += piece.length;
        say((bytes / 1e6).toFixed(1) + " MB …");
        controller.enqueue(piece);
      },
    }));
    if (file) {
      await counted.pipeTo(await file.createWritable());
    } else {
      const url = URL.createObjectURL(await new Response(counted).blob());
      const save = document.createElement("a");
      save.href = url;
      save.download = name;
      save.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    }
    say("Whole: " + (bytes / 1e6).toFixed(1) + " MB");
  } catch (error) {
    if (error.name === "AbortError") return say("");
    say("The download broke, and nothing of it was kept (" + error.message + "): try again");
  }
}

function tell(element, role, text) {
  const line = document.createElement("p");
  if (role) {
    line.className = role;
    line.setAttribute("role", role);
  }
  line.textContent = text;
  element.replaceChildren(line);
}
`;
