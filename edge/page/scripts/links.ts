import type { Page } from "./page.ts";

/** Follows links within the page, and copies the link, the code and coordinates. Runs in the browser. */
export function followLinks(page: Page): void {
  document.addEventListener("click", (event) => {
    const target = event.target as Element;
    if (target.matches(".copy")) {
      const code = target.parentElement!.querySelector("code") ??
        document.querySelector(".tabs :checked + label + pre")!;
      return void copy(target, code.textContent);
    }
    const link = target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin || link.hash !== "") return;
    event.preventDefault();
    if (link.matches(".copy-link")) return void copy(link, link.href);
    const url = link.matches(".language") ? page.withFile(link.href) : link.href;
    page.load(url, link.pathname !== location.pathname, true);
  });

  async function copy(element: Element, value: string): Promise<void> {
    const before = element.textContent;
    await navigator.clipboard?.writeText(value).then(() => {
      element.textContent = page.texts().copied!;
      setTimeout(() => element.textContent = before, 2000);
    }, () => {});
  }
}
