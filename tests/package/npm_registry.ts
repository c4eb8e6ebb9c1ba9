// An npm registry on loopback, only for the scope @weir. Programs get all other packages from the registry
// in the configuration of npm.
import { assert } from "@std/assert";
import { output } from "./project.ts";

export interface NpmRegistry extends AsyncDisposable {
  /** Text of an `.npmrc` that uses this registry for the scope of the package. */
  npmrc: string;
}

/** Starts a registry that serves the tarball of `npm pack`. */
export async function startNpmRegistry(tarball: string): Promise<NpmRegistry> {
  const bytes = await Deno.readFile(tarball);
  const manifest = JSON.parse(await output(".", "tar", "-xzOf", tarball, "package/package.json"));
  const { name, version } = manifest;
  const [scope, unscoped] = name.split("/");
  const file = `/${name}/-/${unscoped}-${version}.tgz`;
  const integrity = `sha512-${
    new Uint8Array(await crypto.subtle.digest("SHA-512", bytes)).toBase64()
  }`;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { origin, pathname } = new URL(request.url);
    const path = decodeURIComponent(pathname);
    if (path === file) return new Response(bytes);
    if (path !== `/${name}`) return Response.json({ error: "Not found" }, { status: 404 });
    const dist = { tarball: origin + file, integrity };
    return Response.json({
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
    });
  });
  assert(scope.startsWith("@"));
  return {
    npmrc: `${scope}:registry=http://127.0.0.1:${server.addr.port}/\n`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
