// The base images of a release. A server on loopback takes the place of the registries.
import { assertEquals, assertRejects } from "@std/assert";
import { DockerfileParser } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { pinImages } from "../../.ci/pin_images.ts";
import { PROJECT } from "../helpers/project.ts";

const DOCKERFILE = await Deno.readTextFile(`${PROJECT}Dockerfile`);
const MANIFEST = '{"schemaVersion":2,"manifests":[]}';
const digestOf = async (text: string) =>
  `sha256:${
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex()
  }`;

const imagesOf = (dockerfile: string) =>
  DockerfileParser.parse(dockerfile).getFROMs().map((from) => from.getImage()!);

/** A registry: its manifests by path, the digest that it states, and whether it requires a token. */
interface Registry {
  manifests: Record<string, string>;
  stated?: string;
  hasTokens?: boolean;
}

/** Serves a registry on loopback. */
async function withRegistry(
  { manifests, stated, hasTokens }: Registry,
  test: (host: string) => Promise<void>,
): Promise<void> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, searchParams, host } = new URL(request.url);
    if (pathname === "/token") {
      return Response.json({
        token: `${searchParams.get("service")} ${searchParams.get("scope")}`,
      });
    }
    const [, name] = /^\/v2\/(.+)\/manifests\/[^/]+$/.exec(pathname) ?? [];
    const scope = `repository:${name}:pull`;
    if (hasTokens && request.headers.get("authorization") !== `Bearer a registry ${scope}`) {
      const challenge = `Bearer realm="http://${host}/token",service="a registry",scope="${scope}"`;
      return new Response("", { status: 401, headers: { "www-authenticate": challenge } });
    }
    const manifest = manifests[pathname];
    if (manifest === undefined) return new Response("", { status: 404 });
    // Without it, a registry answers with the image of one platform.
    assertEquals(request.headers.get("accept")?.includes("image.index.v1+json"), true);
    const digest = stated ?? await digestOf(manifest);
    return new Response(manifest, { headers: { "docker-content-digest": digest } });
  });
  try {
    await test(`127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

for (const hasTokens of [false, true]) {
  Deno.test(`pinImages() appends the digests of all base images of the Dockerfile${hasTokens ? " with tokens" : ""}`, async () => {
    const images = imagesOf(DOCKERFILE);
    const path = (image: string) => image.replace(/^gcr\.io\//, "").split(":");
    const manifests = Object.fromEntries(images.map((image) => {
      const [name, tag] = path(image);
      return [`/v2/${name}/manifests/${tag}`, `${MANIFEST} ${image}`];
    }));
    await withRegistry({ manifests, hasTokens }, async (host) => {
      const local = images.reduce(
        (text, image) => text.replace(image, `${host}/${path(image).join(":")}`),
        DOCKERFILE,
      );
      const pinned = await pinImages(local);
      const digests = await Promise.all(images.map((image) => digestOf(`${MANIFEST} ${image}`)));
      const expected = imagesOf(local).map((image, index) => `${image}@${digests[index]}`);
      assertEquals([images.length, pinned.images, imagesOf(pinned.text)], [2, expected, expected]);
      assertEquals(validate(pinned.text), []);
      assertEquals(
        pinned.text.replace(/@sha256:\w+/g, ""),
        local,
      );
      // A second run changes nothing.
      assertEquals(await pinImages(pinned.text), pinned);
    });
  });
}

Deno.test("pinImages() leaves stages and scratch unchanged", () =>
  withRegistry({ manifests: { "/v2/a/b/manifests/1": MANIFEST } }, async (host) => {
    const start = (image: string) => `FROM --platform=linux/amd64 ${image} AS build\n`;
    const rest = "FROM scratch\nFROM build\nCOPY --from=build /a /\n";
    const { text } = await pinImages(start(`${host}/a/b:1`) + rest);
    assertEquals(text, start(`${host}/a/b:1@${await digestOf(MANIFEST)}`) + rest);
  }));

Deno.test("pinImages() fails when a manifest is missing or has another digest", async () => {
  await withRegistry({ manifests: {} }, async (host) => {
    const image = `${host}/a/b:1`;
    await assertRejects(() => pinImages(`FROM ${image}`), Error, `answers 404 for ${image}`);
  });
  const stated = await digestOf("another");
  const manifests = { "/v2/a/manifests/1": MANIFEST };
  await withRegistry({ manifests, stated }, async (host) => {
    await assertRejects(() => pinImages(`FROM ${host}/a:1`), Error, "but its manifest has sha256:");
  });
  await assertRejects(() => pinImages("FROM a.example/b"), Error, "a.example/b has no tag");
});
