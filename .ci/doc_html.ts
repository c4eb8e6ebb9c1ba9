/**
 * Builds the API reference of all exports, `dist/doc/index.html`.
 *
 * `deno doc --html` names the entries by their paths. This script puts the names under which programs
 * import them into the boxes "Usage", and links the first page to the other entries. Usage: `doc_html.ts`.
 */
import deno from "../deno.json" with { type: "json" };
import { filesIn, PROJECT } from "../tests/helpers/project.ts";
import { run } from "./publish_config.ts";

const DOC = `${PROJECT}dist/doc`;

await Deno.remove(DOC, { recursive: true }).catch(() => {});
await Deno.mkdir(DOC, { recursive: true });
const entries = Object.values(deno.exports);
await run(Deno.execPath(), ["doc", "--html", "--name=Weir", "--output=dist/doc", ...entries]);

/** Import names by the names of `deno doc`: `.` or `cli`. */
const imports = new Map(
  Object.keys(deno.exports).map((name) => [name.replace("./", ""), deno.name + name.slice(1)]),
);
let usages = 0;
for await (const path of filesIn(`${DOC}/`)) {
  if (!path.endsWith(".html")) continue;
  const html = await Deno.readTextFile(`${DOC}/${path}`);
  const named = html.replace(/( from &quot;)([\w.]+)(&quot;;)/g, (all, before, name, after) => {
    if (!imports.has(name)) return all;
    usages++;
    return before + imports.get(name) + after;
  });
  const linked = path === "index.html" ? linkEntries(named) : named;
  if (linked !== html) await Deno.writeTextFile(`${DOC}/${path}`, linked);
}
if (usages === 0) throw new Error("deno doc wrote no usage boxes: correct doc_html.ts");
console.log("dist/doc/index.html");

/** Links the names of the other entries on the first page. */
function linkEntries(html: string): string {
  for (const [folder, name] of imports) {
    if (folder === ".") continue;
    const code = `<td><code>${name}</code></td>`;
    if (!html.includes(code)) {
      throw new Error(`The module documentation of mod.ts has no cell ${name}`);
    }
    html = html.replace(code, `<td><a href="${folder}/index.html"><code>${name}</code></a></td>`);
  }
  return html;
}
