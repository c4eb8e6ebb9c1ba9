import type { AppContext } from "../downloads/document.ts";
import { isForBrowser, type Mirror, MIRROR_PATH } from "../downloads/mirror.ts";
import type { Exchange, Router } from "../http/exchange.ts";
import type { createPage } from "../page/page.ts";
import { PAGE_FILES, PAGE_ROUTES } from "../page/paths.ts";

/** Defined only by bundlers. */
declare const WEIR_PAGE: boolean | undefined;

type LoadPage = () => Promise<{ createPage: typeof createPage }>;

/** A bundler for which `WEIR_PAGE` is `false` leaves the page out. */
const importPage: LoadPage | undefined = typeof WEIR_PAGE === "boolean" && !WEIR_PAGE
  ? undefined
  : () => import("../page/page.ts");

/**
 * Adds the routes of the page, which is loaded at its first request. Adds none if the page is left out, or access requires a
 * token and the server has no tokens.
 */
export function addPage(
  app: Router,
  context: AppContext,
  mirror: Mirror | undefined,
  load: LoadPage | undefined = importPage,
): void {
  const { access, page: hasPage, tokens } = context.settings;
  const needsTokens = access === "signed" || access === "token";
  if (!hasPage || load === undefined || needsTokens && tokens.length === 0) return;
  let page: Router | undefined;
  const dispatch = (exchange: Exchange) => app.fetch(exchange.request, { exchange });
  const respond = async ({ env }: { env: { exchange: Exchange } }) => {
    // Each request imports by itself: in workerd, it cannot await the promise of another one. A failure is not remembered.
    const { createPage } = await load();
    page ??= createPage(context, dispatch, mirror);
    return await page.fetch(env.exchange.request, env);
  };
  for (const path of PAGE_FILES) app.get(path, respond);
  for (const route of PAGE_ROUTES) {
    if (route === MIRROR_PATH) {
      if (mirror === undefined) continue;
      // Programs get the list as JSON.
      app.get(
        route,
        (context, next) => isForBrowser(context.env.exchange) ? respond(context) : next(),
      );
    } else app.get(route, respond);
    if (access !== "public") app.post(route, respond);
  }
}
