import type { Page } from "./page.ts";

/** Shows the location, date and value of the nearest point of a chart. Runs in the browser. */
export function enhanceValues({ fetchPage }: Page): void {
  const label = document.createElement("p");
  label.className = "chart-value";
  const reachInPixels = 16;
  let shown: Element | undefined;
  /** A text per point of the shown chart, requested when the pointer first enters it. */
  let texts: Promise<string[]> = Promise.resolve([]);

  for (const type of ["pointermove", "pointerdown"] as const) {
    document.addEventListener(type, async ({ target, clientX, clientY }) => {
      const plot = (target as Element).closest<SVGElement>(".chart-plot");
      if (!plot) return label.remove();
      if (plot !== shown) texts = request(plot);
      shown = plot;
      const text = (await texts)[nearestPoint(plot, clientX, clientY)];
      if (!text) return label.remove();
      label.textContent = text;
      const chart = plot.parentElement!;
      chart.append(label);
      const bounds = chart.getBoundingClientRect();
      const left = clientX - bounds.left - label.offsetWidth / 2;
      Object.assign(label.style, {
        left: `${Math.min(Math.max(left, 0), bounds.width - label.offsetWidth)}px`,
        top: `${clientY - bounds.top - label.offsetHeight - reachInPixels}px`,
      });
    });
  }

  async function request(plot: SVGElement): Promise<string[]> {
    const page = await fetchPage(plot.dataset.values!).catch(() => undefined);
    return page?.querySelector(".fragment pre")?.textContent.split("\n") ?? [];
  }

  function nearestPoint(plot: SVGElement, x: number, y: number): number {
    const bounds = plot.getBoundingClientRect();
    const distances = [...plot.querySelectorAll("[marker-start] > line")].map((point) => {
      const left = parseFloat(point.getAttribute("x1")!) / 100 * bounds.width;
      const top = Number(point.getAttribute("y1"));
      return Math.hypot(bounds.left + left - x, bounds.top + top - y);
    });
    const least = distances.reduce((a, b) => Math.min(a, b), reachInPixels);
    return distances.indexOf(least);
  }
}
