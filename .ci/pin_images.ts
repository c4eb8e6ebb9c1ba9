/**
 * Writes the digests of the base images into the Dockerfile, so that a release is built from exactly the
 * images that it names. Prints the images.
 *
 * Usage: `pin_images.ts`. `.github/workflows/release.yml` runs it before it builds the image.
 */
import { PROJECT } from "../tests/helpers/project.ts";

/** Registry of an image without a host. */
const DOCKER_HUB = "registry-1.docker.io";
/** Media types of lists of images for several platforms, and of images. */
const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** A Dockerfile with digests, and its base images with them. */
export interface PinnedDockerfile {
  text: string;
  images: string[];
}

/**
 * Appends the digest of its tag to each base image of a Dockerfile.
 *
 * @throws {Error} If an image has no tag, or its registry does not answer with a manifest of that digest
 */
export async function pinImages(dockerfile: string): Promise<PinnedDockerfile> {
  const stages = new Set(["scratch"]);
  const images: string[] = [];
  const lines: string[] = [];
  for (const line of dockerfile.split("\n")) {
    const [, start = "", image, end = ""] = /^(FROM\s+(?:--\S+\s+)*)(\S+)(.*)$/i.exec(line) ?? [];
    if (image === undefined || stages.has(image)) {
      lines.push(line);
      continue;
    }
    const pinned = image.includes("@") ? image : `${image}@${await resolveDigest(image)}`;
    images.push(pinned);
    lines.push(start + pinned + end);
    stages.add(/^\s+AS\s+(\S+)/i.exec(end)?.[1] ?? "scratch");
  }
  return { text: lines.join("\n"), images };
}

/**
 * Returns the digest of the manifest to which a tag refers.
 *
 * Source: OCI Distribution Specification, "Pulling manifests"; Distribution, "Token authentication".
 */
async function resolveDigest(image: string): Promise<string> {
  const [, host, path, tag] = /^(?:([^/]*[.:][^/]*)\/)?([^:@]+):([\w.-]+)$/.exec(image) ?? [];
  if (path === undefined) throw new Error(`${image} has no tag: write one, such as ${image}:1.2.3`);
  const name = host === undefined && !path.includes("/") ? `library/${path}` : path;
  const scheme = host?.startsWith("127.0.0.1:") ? "http" : "https";
  const url = `${scheme}://${host ?? DOCKER_HUB}/v2/${name}/manifests/${tag}`;
  let response = await fetch(url, { headers: { accept: MANIFESTS } });
  if (response.status === 401) {
    await response.body?.cancel();
    const authorization = `Bearer ${await requestToken(image, response)}`;
    response = await fetch(url, { headers: { accept: MANIFESTS, authorization } });
  }
  const body = await response.bytes();
  if (!response.ok) throw new Error(`The registry answers ${response.status} for ${image}`);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
  const stated = response.headers.get("docker-content-digest") ?? `sha256:${hash}`;
  if (stated === `sha256:${hash}`) return stated;
  throw new Error(`The registry names ${image} ${stated}, but its manifest has sha256:${hash}`);
}

/** Requests the token of an anonymous user, as the answer with status 401 says. */
async function requestToken(image: string, { headers }: Response): Promise<string> {
  const challenge = headers.get("www-authenticate") ?? "";
  const { realm, ...parameters } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  ) as Record<string, string>;
  if (!/^Bearer /i.test(challenge) || realm === undefined) {
    throw new Error(`The registry of ${image} needs a password`);
  }
  const url = new URL(realm);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The registry of ${image} gives no token (${response.status})`);
  const { token, access_token } = await response.json();
  return token ?? access_token;
}

if (import.meta.main) {
  const path = `${PROJECT}Dockerfile`;
  const { text, images } = await pinImages(await Deno.readTextFile(path));
  await Deno.writeTextFile(path, text);
  console.log(images.join("\n"));
}
