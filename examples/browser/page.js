// Shows the download link when the service worker, which responds to it, is active.
await navigator.serviceWorker.register("download.js", { type: "module" });
await navigator.serviceWorker.ready;
document.querySelector("a").hidden = false;
