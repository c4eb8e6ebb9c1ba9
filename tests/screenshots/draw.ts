/** Draws the README's pictures: the page in a browser, the command line in a terminal. */
import { createApp } from "../../edge/app.ts";
import { sandboxOptions } from "../../edge/config.ts";
import { inBrowser, isInstalled, LOOPBACK } from "../e2e/browser/chromium.ts";
import { denoArguments, withFiles } from "../helpers/command_line.ts";
import { PROJECT } from "../helpers/project.ts";
import { hasTmux, shell, Terminal } from "../helpers/terminal.ts";

const pathOf = (name: string) => `${PROJECT}tests/screenshots/${name}.png`;
const WIDTH = 1100;

/** Records of pH of ten years: choices, count, first rows. */
async function drawPage(): Promise<void> {
  const app = createApp(sandboxOptions());
  await using server = Deno.serve(LOOPBACK, (request) => app.fetch(request));
  await inBrowser(async (browser) => {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 1180 } });
    await page.goto(`http://127.0.0.1:${server.addr.port}/`);
    await page.getByLabel("Characteristic", { exact: true }).fill("pH");
    await page.getByLabel("From year").fill("2010");
    await page.getByLabel("To year").fill("2019");
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator("#results tbody tr").first().waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await page.screenshot({ path: pathOf("page") });
  });
}

/** A download on its way, and the same when it is whole. */
async function drawProgress(): Promise<void> {
  const words = [
    "records",
    "--sandbox",
    "--doi",
    "10.25976/weir-aa00",
    "--top",
    "4000",
    "--output",
    "aa00.csv",
  ];
  const screens = await screensOf(words, [/rows \(\d\d%\)/, /exit 0/]);
  const lines = screens.map((screen) => `$ weir ${words.join(" ")}\n${screen}`);
  await inBrowser(async (browser) => {
    const page = await browser.newPage({ viewport: { width: 1200, height: 100 } });
    await page.setContent(`<style>
      body { margin: 0; background: #10202b }
      pre { margin: 1rem; padding: 1rem; font: 13px/1.5 monospace; color: #e6eef2; background: #1b303d;
        border-radius: 6px; }
    </style>${"<pre></pre>".repeat(lines.length)}`);
    for (const [index, text] of lines.entries()) {
      await page.locator("pre").nth(index).evaluate((element, text) => {
        element.textContent = text;
      }, text);
    }
    await page.screenshot({ path: pathOf("progress"), fullPage: true });
  });
}

/** What a terminal shows of a command line when each of the texts is there. */
async function screensOf(words: string[], texts: RegExp[]): Promise<string[]> {
  const screens: string[] = [];
  await withFiles(async () => {
    const terminal = new Terminal();
    try {
      const args = denoArguments({ hasFiles: true }, words);
      await terminal.open(140, {}, shell([Deno.execPath(), ...args]));
      for (const text of texts) screens.push(await terminal.shows(text));
    } finally {
      await terminal.close();
    }
  });
  return screens.map((screen) => screen.replace(/\nexit 0$/, ""));
}

if (!isInstalled || !hasTmux) {
  console.error("The pictures want chromium and tmux: apt-get install chromium tmux");
  Deno.exit(1);
}
await drawPage();
await drawProgress();
