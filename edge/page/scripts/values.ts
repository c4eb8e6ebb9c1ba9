/** Shows the location, date and value of the nearest point of a chart. Runs in the browser. */
export function enhanceValues(): void {
  const label = document.createElement("p");
  label.className = "chart-value";
  const reachInPixels = 16;

  for (const type of ["pointermove", "pointerdown"] as const) {
    document.addEventListener(type, ({ target, clientX, clientY }) => {
      const plot = (target as Element).closest<SVGElement>(".chart-plot");
      const text = plot && describeNearest(plot, clientX, clientY);
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

  function describeNearest(plot: SVGElement, x: number, y: number): string | undefined {
    const bounds = plot.getBoundingClientRect();
    let nearest: { distance: number; part: number; group: SVGElement; value: string } | undefined;
    for (const group of plot.querySelectorAll<SVGElement>("[data-values]")) {
      const values = group.dataset.values!.split(" ");
      group.querySelectorAll("use").forEach((use, index) => {
        const part = parseFloat(use.getAttribute("x")!) / 100;
        const top = bounds.top + Number(use.getAttribute("y"));
        const distance = Math.hypot(bounds.left + part * bounds.width - x, top - y);
        if (distance < (nearest?.distance ?? reachInPixels)) {
          nearest = { distance, part, group, value: values[index]! };
        }
      });
    }
    if (!nearest) return undefined;
    const { part, group, value } = nearest;
    const [first, last] = plot.dataset.years!.split(",").map(Number) as [number, number];
    const [start, end] = [Date.UTC(first, 0), Date.UTC(last + 1, 0)];
    // Noon, because a rounded position can be a little before midnight.
    const noon = start + part * (end - start) + 43_200_000;
    const isFrench = document.documentElement.lang === "fr";
    const result = `${isFrench ? value.replace(".", ",") : value} ${plot.dataset.unit}`;
    return [group.dataset.name, new Date(noon).toISOString().slice(0, 10), result.trim()].join(
      ", ",
    );
  }
}
