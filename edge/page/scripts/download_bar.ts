/** Shows the bar with a download button while the card of the download is out of view. Runs in the browser. */
export function showDownloadBar(): void {
  const observer = new IntersectionObserver(([entry]) => {
    const bar = document.querySelector<HTMLElement>(".download-bar");
    if (bar && entry) bar.hidden = entry.isIntersecting;
  });
  document.addEventListener("shown", () => {
    observer.disconnect();
    const card = document.querySelector(".take");
    if (card) observer.observe(card);
  });
}
