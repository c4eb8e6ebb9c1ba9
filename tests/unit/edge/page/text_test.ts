// The page is in the language of its URL, else of the browser.
import "../../../helpers/no_permission.ts";
import { assertStringIncludes } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { get } from "./pages.ts";

const languages: [path: string, header: string, language: string][] = [
  ["/", "", "en"],
  ["/", "fr-CA,fr;q=0.9,en;q=0.8", "fr"],
  ["/", "de, en;q=0.5, fr;q=0.4", "en"],
  ["/?lang=en", "fr", "en"],
  ["/datasets?lang=fr", "en", "fr"],
];
for (const [path, header, language] of languages) {
  Deno.test(`GET ${path} is in "${language}" when accept-language is "${header}"`, async () => {
    const { app } = overSandbox();
    const html = await get(app, path, { headers: { "accept-language": header } });
    assertStringIncludes(html, `<html lang="${language}">`);
  });
}
