// Serves the files of this folder. Any other server of static files works too.
const TYPES: Record<string, string> = { html: "text/html", js: "text/javascript" };

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const name = pathname === "/" ? "index.html" : pathname.slice(1);
    const type = TYPES[name.split(".").at(-1)!];
    if (type === undefined) return new Response("Not found", { status: 404 });
    try {
      const { readable } = await Deno.open(new URL(name, import.meta.url));
      return new Response(readable, { headers: { "content-type": `${type}; charset=utf-8` } });
    } catch {
      return new Response("Not found", { status: 404 });
    }
  },
};
