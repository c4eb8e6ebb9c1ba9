import type { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Downloads } from "../downloads/downloads.ts";
import { HttpProblem } from "../downloads/problem.ts";
import { Page } from "./page.ts";
import { SCRIPT } from "./script.ts";
import { ICON, STYLE } from "./style.ts";

/** Nobody has more to say, in bytes. */
const LONGEST_FORM = 100_000;

const FILES: Record<string, { type: string; body: string }> = {
  "/weir.css": { type: "text/css; charset=utf-8", body: STYLE },
  "/weir.js": { type: "text/javascript; charset=utf-8", body: SCRIPT },
  "/weir.svg": { type: "image/svg+xml", body: ICON },
};

/**
 * Adds the page and its files to the app, where there is a page: who may not show a token could
 * count and preview nothing.
 *
 * @param paths Told of each path, with its methods
 */
export function addPage(app: Hono, paths: Map<string, string>, downloads: Downloads): void {
  const { access, tokens } = downloads.settings;
  const takesToken = access === "signed" || access === "token";
  if (takesToken && tokens.length === 0) return;
  for (const [path, { type, body }] of Object.entries(FILES)) {
    paths.set(path, "GET, HEAD");
    // Asked for each time: a page of today must not meet a script of yesterday.
    const headers = { "content-type": type, "cache-control": "no-cache" };
    app.get(path, () => new Response(body, { headers }));
  }
  const page = new Page(downloads);
  paths.set("/", takesToken ? "GET, HEAD, POST" : "GET, HEAD");
  app.get("/", ({ req }) => page.answer(req.raw, new URL(req.url).searchParams));
  if (!takesToken) return;
  // The token of a form without script; in a URL it would be kept in many places.
  app.post("/", bodyLimit({ maxSize: LONGEST_FORM, onError: tooLong }), async ({ req }) => {
    const sent = new URLSearchParams(await req.text());
    return page.answer(req.raw, sent, sent.get("token")?.trim() || undefined);
  });
}

function tooLong(): never {
  throw new HttpProblem({
    status: 413,
    title: "Form too large",
    detail: `Wanted a form of at most ${LONGEST_FORM} bytes`,
    hint: "choose fewer datasets or fields",
  });
}
