// Suggestions have the order of the command line, with the name that a text means first, and no name with another meaning.
import "../../../helpers/no_permission.ts";
import { assert, assertEquals } from "@std/assert";
import { overSandbox } from "../../../helpers/edge.ts";
import { weir } from "../../../helpers/run_weir.ts";
import { get } from "./pages.ts";

/** Texts, with the first suggestion and some others of the page and the command line. */
const suggestions: [text: string, first: string, ...others: string[]][] = [
  ["TP", "Total Phosphorus, mixed forms"],
  ["DO", "Dissolved oxygen (DO)", "Dissolved oxygen saturation"],
  ["plomb", "Lead"],
  ["PHOS", "Total Phosphorus, mixed forms", "Orthophosphate", "Phosmet"],
  ["nitr", "Nitrate", "Nitrite", "Total Nitrogen, mixed forms"],
  ["nitrat", "Nitrate", "Inorganic nitrogen (nitrate and nitrite)"],
  ["Conductivity", "Conductivity", "Specific conductance"],
  ["cond", "Conductivity", "Specific conductance"],
  ["hard", "Hardness, Ca, Mg"],
  ["water temperature", "Temperature, water"],
  ["suspended solds", "Total suspended solids"],
  ["phosphorous", "Total Phosphorus, mixed forms"],
  ["inorganic nitrogen", "Inorganic nitrogen (nitrate and nitrite)"],
  ["unionized ammonia", "Ammonia, un-ionized"],
  ["organic nitrogn", "Organic Nitrogen"],
  ["total coliforn", "Total Coliform"],
  ["imdium", "Indium"],
];
for (const [text, first, ...others] of suggestions) {
  Deno.test(`GET /suggestions and weir values have the same names, "${first}" first, when the text is "${text}"`, async () => {
    const { app, stats } = overSandbox();
    const html = await get(app, `/suggestions?text=${text}`);
    const names = [...html.matchAll(/data-name="([^"]*)"/g)].map(([, name]) => name);
    assertEquals(names[0], first);
    for (const name of others) assert(names.includes(name), name);
    assertEquals(stats.requests, 0);
    const { output } = await weir(["values", "characteristic", "--search", text]);
    assertEquals(names, output.trimEnd().split("\n").slice(0, 12));
  });
}

const groups: [text: string, name: string][] = [["metals", "Metals"], ["nutr", "Nutrients"]];
for (const [text, name] of groups) {
  Deno.test(`GET /suggestions has the group ${name} first when the text is "${text}"`, async () => {
    const html = await get(overSandbox().app, `/suggestions?text=${text}`);
    assertEquals(/data-name="([^"]*)"/.exec(html)![1], name);
  });
}

/** Texts, and names that differ from them by a part that changes their meaning. */
const opposites: [text: string, name: string][] = [
  ["inorganic nitrogen", "Organic Nitrogen"],
  ["inorgannic phosphorus", "Organic phosphorus"],
  ["organic nitrogen", "Inorganic nitrogen"],
  ["ammonia ionized", "Ammonia, un-ionized"],
  ["amonia", "Ammonia, un-ionized"],
  ["carbonate hardness", "Hardness, non-carbonate"],
  ["dissolved lead", "Lead"],
  ["total amonia", "Ammonia"],
  ["xylenez", "Total xylenes"],
];
for (const [text, name] of opposites) {
  Deno.test(`GET /suggestions and weir values do not have "${name}" when the text is "${text}"`, async () => {
    const html = await get(overSandbox().app, `/suggestions?text=${text}`);
    const { output } = await weir(["values", "characteristic", "--search", text]);
    assertEquals((html + output).includes(name), false);
  });
}
