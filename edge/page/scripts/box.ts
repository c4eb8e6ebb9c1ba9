import type { Page } from "./page.ts";

/** Draws a box on the map with the pointer. Runs in the browser; the server converts its pixels to degrees. */
export function enhanceBox({ texts, load }: Page): void {
  let start: { x: number; y: number } | undefined;
  const frame = document.createElement("div");
  frame.className = "map-drawn";

  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest(".map-draw");
    // A key press goes to the four numbers.
    if (!link || event.detail === 0) return;
    event.preventDefault();
    const map = link.closest<HTMLElement>(".map")!;
    map.classList.toggle("drawing");
    document.querySelector("#form-status")!.textContent = texts().drawBox!;
  });
  document.addEventListener("pointerdown", (event) => {
    const map = (event.target as Element).closest<HTMLElement>(".map.drawing");
    if (!map || (event.target as Element).closest(".map-buttons")) return;
    event.preventDefault();
    start = { x: event.clientX, y: event.clientY };
    map.append(frame);
    resize(event);
    map.setPointerCapture(event.pointerId);
  });
  document.addEventListener("pointermove", (event) => {
    if (start) resize(event);
  });
  document.addEventListener("pointerup", (event) => {
    const map = frame.parentElement;
    if (!start || !map) return;
    const bounds = map.getBoundingClientRect();
    const scale = Number(map.dataset.width) / bounds.width;
    const drawn = [
      start.x - bounds.left,
      start.y - bounds.top,
      event.clientX - bounds.left,
      event.clientY - bounds.top,
    ]
      .map((pixel) => (pixel * scale).toFixed(1));
    const size = [map.dataset.width, map.dataset.height];
    const isLarge = Math.abs(event.clientX - start.x) > 4 && Math.abs(event.clientY - start.y) > 4;
    start = undefined;
    frame.remove();
    map.classList.remove("drawing");
    if (!isLarge) return;
    const url = new URL(document.querySelector("main")!.dataset.url!, location.href);
    url.searchParams.set("view", map.dataset.view!);
    url.searchParams.set("drawn", [...drawn, ...size].join());
    load(url.href, false, true);
  });

  function resize(event: PointerEvent): void {
    const bounds = frame.parentElement!.getBoundingClientRect();
    const from = start!;
    Object.assign(frame.style, {
      left: `${Math.min(from.x, event.clientX) - bounds.left}px`,
      top: `${Math.min(from.y, event.clientY) - bounds.top}px`,
      width: `${Math.abs(from.x - event.clientX)}px`,
      height: `${Math.abs(from.y - event.clientY)}px`,
    });
  }
}
