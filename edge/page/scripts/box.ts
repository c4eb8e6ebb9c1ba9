import type { Page } from "./page.ts";

/** Draws a box on the map with the pointer. Runs in the browser; the server converts its pixels to degrees. */
export function enhanceBox(page: Page): void {
  const box = document.createElementNS("http://www.w3.org/2000/svg", "path");
  box.setAttribute("class", "map-box");
  /** A shorter side is a click, not a box. */
  const minPixels = 4;
  let land: SVGSVGElement | undefined;
  let start = new DOMPoint();

  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest(".map-draw");
    // A key press goes to the four numbers.
    if (!link || event.detail === 0) return;
    event.preventDefault();
    link.closest(".map")!.classList.toggle("drawing");
    document.querySelector("#form-status")!.textContent = page.texts().drawBox!;
  });
  document.addEventListener("pointerdown", (event) => {
    const target = event.target as Element;
    const map = target.closest(".map.drawing");
    if (!map || target.closest(".map-buttons a")) return;
    event.preventDefault();
    map.setPointerCapture(event.pointerId);
    land = map.querySelector<SVGSVGElement>(".map-land")!;
    land.append(box);
    start = pointOf(event);
    draw(start);
  });
  document.addEventListener("pointermove", (event) => {
    if (land) draw(pointOf(event));
  });
  document.addEventListener("pointerup", (event) => {
    if (!land) return;
    const map = land.closest<HTMLElement>(".map")!;
    const end = pointOf(event);
    const { width, height } = land.viewBox.baseVal;
    land = undefined;
    box.remove();
    map.classList.remove("drawing");
    if (Math.min(Math.abs(end.x - start.x), Math.abs(end.y - start.y)) < minPixels) return;
    const url = new URL(page.url(), location.href);
    url.searchParams.set("view", map.dataset.view!);
    const drawn = [start.x, start.y, end.x, end.y].map((pixel) => pixel.toFixed(1));
    url.searchParams.set("drawn", [...drawn, width, height].join());
    page.load(url.href, false, true);
  });

  /** Returns the position of the pointer in the drawing, which the browser scales. */
  function pointOf({ clientX, clientY }: PointerEvent): DOMPoint {
    return new DOMPoint(clientX, clientY).matrixTransform(land!.getScreenCTM()!.inverse());
  }

  function draw({ x, y }: DOMPoint): void {
    box.setAttribute("d", `M${start.x} ${start.y}H${x}V${y}H${start.x}z`);
  }
}
