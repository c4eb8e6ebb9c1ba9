/** Draws the README's screenshots: the page in a browser and the command line in a terminal. */
import { createApp } from "../../edge/app.ts";
import { sandboxOptions } from "../../edge/config.ts";
import { inBrowser, isInstalled, LOOPBACK } from "../e2e/browser/chromium.ts";
import { denoArguments, withFiles } from "../e2e/command_line.ts";
import { PROJECT } from "../helpers/project.ts";
import { hasTmux, shell, Terminal } from "../e2e/processes/terminal.ts";

const pathOf = (name: string) => `${PROJECT}tests/screenshots/${name}.png`;
/** Maximum height of the picture, as a part of its width: it must fit on the first screen of README.md. */
const MAX_HEIGHT = 0.2;

/** Draws the table of the page's results: its header and its first rows; and the first screen. */
async function drawPage(): Promise<void> {
  const app = createApp(sandboxOptions());
  await using server = Deno.serve(LOOPBACK, (request) => app.fetch(request));
  await inBrowser(async (browser) => {
    const page = await browser.newPage({
      viewport: { width: 1440, height: 1200 },
      deviceScaleFactor: 2,
    });
    const root = `http://127.0.0.1:${server.addr.port}/`;
    await page.goto(`${root}?where=Manitoba&from=2015&to=2019`);
    const table = page.locator(".table-card table");
    const { x, y, width: tableWidth } = (await table.boundingBox())!;
    // A table that is too wide scrolls in its parent element.
    const width = Math.min(tableWidth, (await table.locator("..").boundingBox())!.width);
    const rows = await table.locator("tr").all();
    const boxes = await Promise.all(rows.map((row) => row.boundingBox()));
    const heights = boxes.map((box) => box!.y + box!.height - y);
    const height = Math.max(...heights.filter((height) => height <= width * MAX_HEIGHT));
    const clip = { x, y, width, height };
    // The table is below the viewport.
    await page.screenshot({ path: pathOf("page"), clip, fullPage: true });
    const first = await browser.newPage({ viewport: { width: 1280, height: 850 } });
    await first.goto(root);
    await first.locator(".fragment").waitFor();
    await first.screenshot({ path: pathOf("first_screen") });
  });
}

/** Draws the terminal during a download and after it. */
async function drawProgress(): Promise<void> {
  const args = [
    "records",
    "--sandbox",
    "--doi",
    "10.25976/weir-aa00",
    "--top",
    "4000",
    "--output",
    "aa00.csv",
  ];
  const screens = await captureScreens(args, [/rows \(\d\d%\)/, /exit 0/]);
  const texts = screens.map((screen) => `$ weir ${args.join(" ")}\n${screen}`);
  await inBrowser(async (browser) => {
    const page = await browser.newPage({ viewport: { width: 1200, height: 100 } });
    await page.setContent(`<style>
      body { margin: 0; background: #10202b }
      pre { margin: 1rem; padding: 1rem; font: 13px/1.5 monospace; color: #e6eef2; background: #1b303d;
        border-radius: 6px; }
    </style>${"<pre></pre>".repeat(texts.length)}`);
    for (const [index, text] of texts.entries()) {
      await page.locator("pre").nth(index).evaluate((element, text) => {
        element.textContent = text;
      }, text);
    }
    await page.screenshot({ path: pathOf("progress"), fullPage: true });
  });
}

/** Runs a command line in a terminal and returns its content when each pattern matches. */
async function captureScreens(args: string[], patterns: RegExp[]): Promise<string[]> {
  const screens: string[] = [];
  await withFiles(async () => {
    const terminal = new Terminal();
    try {
      const command = [Deno.execPath(), ...denoArguments({ hasFiles: true }, args)];
      await terminal.open(140, {}, shell(command));
      for (const pattern of patterns) screens.push(await terminal.shows(pattern));
    } finally {
      await terminal.close();
    }
  });
  return screens.map((screen) => screen.replace(/\nexit 0$/, ""));
}

if (!isInstalled || !hasTmux) {
  console.error("Chromium or tmux is missing: apt-get install chromium tmux");
  Deno.exit(1);
}
await drawPage();
await drawProgress();
