import type { Page } from "./page.ts";

/** Shows the location, date and value of the nearest point of a chart. Runs in the browser. */
export function enhanceValues({ fetchPage }: Page): void {
  const label = document.createElement("p");
  label.className = "chart-value";
  const reachInPixels = 16;
  let shown: Element | undefined;
  /** A text per point of the shown chart, requested when the pointer first enters it. */
  let texts: Promise<string[]> = Promise.resolve([]);
  for (const type of ["pointermove", "pointerdown"] as const) document.addEventListener(type, show);

  async function show({ target, clientX, clientY }: PointerEvent): Promise<void> {
    const plot = (target as Element).closest<SVGElement>(".chart-plot");
    if (!plot) return label.remove();
    if (plot !== shown) texts = request(plot);
    shown = plot;
    const { left, top, width } = plot.getBoundingClientRect();
    const text = (await texts)[nearestPoint(plot, clientX - left, clientY - top, width)];
    if (!text) return label.remove();
    label.textContent = text;
    const chart = plot.parentElement!;
    chart.append(label);
    const bounds = chart.getBoundingClientRect();
    const x = clientX - bounds.left - label.offsetWidth / 2;
    label.style.left = `${Math.max(0, Math.min(x, bounds.width - label.offsetWidth))}px`;
    label.style.top = `${clientY - bounds.top - label.offsetHeight - reachInPixels}px`;
  }

  async function request(plot: SVGElement): Promise<string[]> {
    const page = await fetchPage(plot.dataset.values!).catch(() => undefined);
    return page?.querySelector(".fragment pre")?.textContent.split("\n") ?? [];
  }

  function nearestPoint(plot: SVGElement, x: number, y: number, width: number): number {
    const distances = [...plot.querySelectorAll<SVGLineElement>("[marker-start] > line")].map(
      ({ x1, y1 }) =>
        Math.hypot(x1.baseVal.valueInSpecifiedUnits / 100 * width - x, y1.baseVal.value - y),
    );
    return distances.indexOf(distances.reduce((a, b) => Math.min(a, b), reachInPixels));
  }
}
