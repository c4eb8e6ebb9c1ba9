/** Draws the README's screenshots: the page in a browser and the command line in a terminal. */
import { createApp } from "../../edge/app.ts";
import { sandboxOptions } from "../../edge/server/config.ts";
import { inBrowser, isInstalled, LOOPBACK } from "../e2e/browser/chromium.ts";
import { commandOf, withFiles } from "../e2e/command_line.ts";
import { PROJECT } from "../helpers/project.ts";
import { hasTmux, onTerminal } from "../e2e/processes/terminal.ts";

const pathOf = (name: string) => `${PROJECT}tests/screenshots/${name}.png`;

/** Draws the first screen of the page. */
async function drawPage(): Promise<void> {
  const app = createApp(sandboxOptions());
  await using server = Deno.serve(LOOPBACK, (request) => app.fetch(request));
  await inBrowser(async (browser) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 850 } });
    await page.goto(`http://127.0.0.1:${server.addr.port}/`);
    await page.locator(".fragment").waitFor();
    await page.screenshot({ path: pathOf("first_screen") });
  });
}

/** Draws the terminal during a download and after it. */
async function drawProgress(): Promise<void> {
  const line = "records --sandbox --doi 10.25976/weir-aa00 --top 4000 --output aa00.csv";
  const screens: string[] = [];
  await withFiles(() =>
    onTerminal(140, {}, commandOf({ hasFiles: true }, ...line.split(" ")), async (terminal) => {
      screens.push(await terminal.shows(/rows \(\d\d%\)/), await terminal.shows(/exit 0/));
    })
  );
  const texts = screens.map((screen) => `$ weir ${line}\n${screen.replace(/\nexit 0$/, "")}`);
  await inBrowser(async (browser) => {
    const page = await browser.newPage({ viewport: { width: 1200, height: 100 } });
    await page.setContent(`<style>
      body { margin: 0; background: #10202b }
      pre { margin: 1rem; padding: 1rem; font: 13px/1.5 monospace; color: #e6eef2; background: #1b303d;
        border-radius: 6px; }
    </style>${texts.map(() => "<pre></pre>").join("")}`);
    for (const [index, text] of texts.entries()) {
      await page.locator("pre").nth(index).evaluate((element, text) => {
        element.textContent = text;
      }, text);
    }
    await page.screenshot({ path: pathOf("progress"), fullPage: true });
  });
}

if (!isInstalled || !hasTmux) {
  console.error("Chromium or tmux is missing: apt-get install chromium tmux");
  Deno.exit(1);
}
await drawPage();
await drawProgress();
