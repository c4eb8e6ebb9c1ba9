// A JSR registry on loopback, with the API of `deno publish` and the files that Deno downloads. Unlike jsr.io,
// it does not send `moduleGraph2`, a list of imports with which Deno requests the same files earlier.
import { assert } from "@std/assert";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import jsr from "../../jsr.json" with { type: "json" };
import { childCommand } from "../helpers/programs.ts";
import { filesIn, importsOf, PROJECT, resolve } from "../helpers/project.ts";

export interface JsrRegistry extends AsyncDisposable {
  /** Value of the variable `JSR_URL`. Its random path avoids the cache of another registry at the same address. */
  url: string;
  filesOf(name: string, version: string): ReadonlyMap<string, Bytes>;
}

type Bytes = Uint8Array<ArrayBuffer>;

type Versions = Map<string, PublishedVersion>;

interface PublishedVersion {
  files: Map<string, Bytes>;
  /** Paths of the modules by the names of the entry points. */
  exports: Record<string, string>;
}

const MEDIA_TYPES: Record<string, string> = {
  ts: "text/typescript",
  js: "text/javascript",
  json: "application/json",
};

/** Starts a registry that has the @std packages of `jsr.json` in the lowest accepted version. */
export async function startJsrRegistry(stdVersion?: string): Promise<JsrRegistry> {
  const packages = await stdPackages(stdVersion);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      // Deno requests the API at the root, not below the path of `JSR_URL`.
      if (pathname.startsWith("/api/")) return await respondToApi(packages, request, pathname);
      return await respondWithFile(packages, pathname.replace(/^\/[^/]+/, ""));
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/${crypto.randomUUID()}/`,
    filesOf: (name, version) => packages.get(name)?.get(version)?.files ?? new Map(),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function respondToApi(
  packages: Map<string, Versions>,
  request: Request,
  path: string,
): Promise<Response> {
  const [, scope, name, version] =
    /^\/api\/scopes\/([^/]+)\/packages\/([^/]+)(?:\/versions\/([^/]+))?$/.exec(path) ?? [];
  const versions = packages.get(`@${scope}/${name}`);
  if (request.method === "GET") {
    if (path.startsWith("/api/publish_status/")) return publishingTask(path, "success");
    const exists = version === undefined ? scope !== undefined : versions?.has(version);
    return exists ? Response.json({ scope, name, version }) : notFound();
  }
  if (!scope || !name || !version || request.method !== "POST") return notFound();
  const files = await untar(request);
  const config = new URL(request.url).searchParams.get("config") ?? "/jsr.json";
  const { exports } = JSON.parse(new TextDecoder().decode(files.get(config)));
  packages.set(`@${scope}/${name}`, new Map([...versions ?? [], [version, { files, exports }]]));
  return publishingTask(path, "pending");
}

function publishingTask(path: string, status: "pending" | "success"): Response {
  return Response.json({ id: path.split("/").at(-1), status, error: null });
}

async function respondWithFile(packages: Map<string, Versions>, path: string): Promise<Response> {
  const [, name = "", rest = ""] = /^\/(@[^/]+\/[^/]+)\/(.+)$/.exec(path) ?? [];
  const versions = packages.get(name);
  if (versions === undefined) return notFound();
  if (rest === "meta.json") {
    const [scope, unscoped] = name.slice(1).split("/");
    const names = [...versions.keys()];
    const entries = names.map((version) => [version, {}]);
    const latest = names.at(-1);
    return Response.json({ scope, name: unscoped, latest, versions: Object.fromEntries(entries) });
  }
  const published = versions.get(/^([^/]+)_meta\.json$/.exec(rest)?.[1] ?? "");
  if (published !== undefined) {
    const manifest: Record<string, { size: number; checksum: string }> = {};
    for (const [file, bytes] of published.files) {
      manifest[file] = { size: bytes.length, checksum: `sha256-${await sha256(bytes)}` };
    }
    return Response.json({ manifest, exports: published.exports });
  }
  const slash = rest.indexOf("/");
  const bytes = versions.get(rest.slice(0, slash))?.files.get(rest.slice(slash));
  if (bytes === undefined) return notFound();
  const type = MEDIA_TYPES[path.split(".").at(-1)!] ?? "text/plain";
  return new Response(bytes, { headers: { "content-type": type } });
}

function notFound(): Response {
  return Response.json({ code: "notFound", message: "Not found" }, { status: 404 });
}

/** Returns the @std packages of `jsr.json`, with the modules of the npm package that development uses. */
async function stdPackages(stdVersion: string | undefined): Promise<Map<string, Versions>> {
  const packages = new Map<string, Versions>();
  const types = await stdTypes();
  for (const [specifier, target] of Object.entries(jsr.imports)) {
    const [, name, minimum] = /^jsr:(@std\/[^@]+)@\^([^/]+)/.exec(target) ?? [];
    if (name === undefined || minimum === undefined) continue;
    const version = stdVersion ?? minimum;
    const versions: Versions = packages.get(name) ??
      new Map([[version, { files: new Map(), exports: {} }]]);
    packages.set(name, versions);
    const { files, exports } = versions.get(version)!;
    // The npm package deno-std contains all of @std, so the paths include the name of the @std package.
    const module = fileURLToPath(import.meta.resolve(specifier));
    const root = dirname(dirname(module));
    const add = async (path: string) => {
      if (files.has(`/${path}`)) return;
      files.set(`/${path}`, await Deno.readFile(`${root}/${path}`));
      for (const imported of importsOf(`${root}/${path}`)) await add(resolve(path, imported));
    };
    const entry = module.slice(root.length + 1);
    await add(entry);
    const declarations = entry.replace(/js$/, "d.ts");
    const comment = `/* @ts-self-types="./${declarations.split("/").at(-1)}" */\n`;
    const encode = (text: string) => new TextEncoder().encode(text);
    const code = new TextDecoder().decode(files.get(`/${entry}`));
    files.set(`/${entry}`, encode(comment + code));
    files.set(`/${declarations}`, encode(types.get(specifier)!));
    exports[`.${specifier.slice(name.length)}`] = `./${entry}`;
  }
  return packages;
}

/** Returns the type declarations of @std modules in `tests/std.d.ts`, by specifier. */
async function stdTypes(): Promise<Map<string, string>> {
  const text = await Deno.readTextFile(`${PROJECT}tests/std.d.ts`);
  const modules = text.matchAll(/^declare module "([^"]+)" \{\n([^]*?)^\}$/gm);
  return new Map([...modules].map(([, specifier, code]) => [specifier!, code!]));
}

/** Returns the files of a compressed tar archive by their paths with a leading slash. */
async function untar(archive: Request): Promise<Map<string, Bytes>> {
  const folder = `${await Deno.makeTempDir({ prefix: "weir-upload-" })}/`;
  try {
    await Deno.writeFile(`${folder}archive`, await archive.bytes());
    await Deno.mkdir(`${folder}files`);
    const args = ["-xzf", "archive", "-C", "files"];
    const { success } = await childCommand("tar", { args, cwd: folder }).output();
    assert(success, "tar cannot read the uploaded archive");
    const paths = await Array.fromAsync(filesIn(`${folder}files/`));
    return new Map(
      await Promise.all(
        paths.sort().map(async (path): Promise<[string, Bytes]> => {
          return [`/${path}`, await Deno.readFile(`${folder}files/${path}`)];
        }),
      ),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function sha256(bytes: Bytes): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
