import type { Page } from "./page.ts";

/** Marks results of another form, blocks their download, and sends the form. Runs in the browser. */
export function watchForm(page: Page): void {
  const FILE_BUTTON = "[formaction='/download']";
  for (const type of ["input", "change"]) document.addEventListener(type, onChange);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("shown", update);
  // A browser may restore the form's values after this script.
  addEventListener("pageshow", update);

  function update(): void {
    // A name that is being typed is not chosen yet.
    const typed = document.querySelector<HTMLInputElement>("#what:focus")?.value.trim();
    const isStale = page.settingsOf(page.form(), typed) !== page.shownSettings;
    document.body.classList.toggle("stale", isStale);
    for (const button of document.querySelectorAll<HTMLButtonElement>(FILE_BUTTON)) {
      button.disabled = isStale;
    }
  }

  function onChange({ target, type }: Event): void {
    const input = target as HTMLInputElement;
    const chip = input.checked ? null : input.closest(".chip");
    // A chip that is unchecked is gone. The keyboard stays in the form; a tap does not open that of a phone.
    if (chip && input.matches(":focus-visible")) {
      document.querySelector<HTMLElement>("#what")!.focus();
    }
    chip?.remove();
    update();
    if (type === "change" && input.matches("body:not(.stale) :is([name=columns], [name=tidy])")) {
      page.load(page.withFile(page.url()), false, true);
    }
  }

  function onSubmit(event: SubmitEvent): void {
    const form = page.form()!;
    // The browser itself downloads files.
    if (event.target !== form || event.submitter?.matches(FILE_BUTTON)) return;
    event.preventDefault();
    const { pathname, searchParams } = new URL(form.getAttribute("action")!, location.href);
    const parameters = new URLSearchParams([...searchParams, ...page.valuesOf(form)]);
    page.load(`${pathname}?${parameters}`, true, true);
  }
}
