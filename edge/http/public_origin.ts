// The origin under which a client knows this server.

/** A client can forge the headers of a proxy: use it only in the response to the same client. */
export function publicOrigin({ url, headers }: Request): string {
  const { protocol, host, origin } = new URL(url);
  const first = (name: string) => headers.get(name)?.split(",")[0]?.trim().toLowerCase();
  const proto = first("x-forwarded-proto");
  const scheme = proto === "https" || proto === "http" ? `${proto}:` : protocol;
  const forwarded = `${scheme}//${first("x-forwarded-host") ?? host}`;
  if (!URL.canParse(forwarded)) return origin;
  const { href, origin: forwardedOrigin } = new URL(forwarded);
  // A host with a path or a user name is not an origin.
  return href === `${forwardedOrigin}/` ? forwardedOrigin : origin;
}
