// Connects an app with the server that stops it. A file of its own, because `edge/node.ts` must not load the app.

/** Key of an internal method of apps. See {@linkcode trackResponses}. */
export const TRACK_RESPONSES: unique symbol = Symbol("TRACK_RESPONSES");

/**
 * Makes an app keep its open responses, so that a server can log them when it stops.
 *
 * @param app App of `createApp()`. Nothing is logged for another one
 * @returns A function that logs the open responses as interrupted
 */
export function trackResponses(app: object): () => void {
  const { [TRACK_RESPONSES]: track } = app as { [TRACK_RESPONSES]?: () => () => void };
  return track?.() ?? (() => {});
}
