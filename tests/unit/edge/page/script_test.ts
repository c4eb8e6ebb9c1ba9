// Runs the page's script over the page's HTML, both as the server sends them.
import "../../../helpers/reads_fixtures.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { AppOptions } from "../../../../edge/app.ts";
import { formatsOf } from "../../../helpers/formats.ts";
import { DEADLINE } from "../../../helpers/deadline.ts";
import { toLines } from "../../../helpers/dom.ts";
import { overSandbox, SECRET } from "../../../helpers/edge.ts";
import { assertGolden } from "../../../helpers/golden.ts";
import { type OpenPage, openPage, type PageOptions } from "../../../helpers/page_script.ts";
import { differingLines, pageLines } from "../../../helpers/page_states.ts";

const token = "the-token-of-a-test";
const bearer = { authorization: `Bearer ${token}` };
const key = { "x-api-key": "sandbox" };
const modes: [access: AppOptions["access"], headers: Record<string, string>][] = [
  ["public", {}],
  ["caller", key],
  ["token", bearer],
  ["signed", bearer],
];
const appOf = (access: AppOptions["access"]) =>
  overSandbox({ records: 30, requestsPerSecond: Infinity }, {
    access,
    signingSecret: SECRET,
    tokens: [token],
    now: () => 1_800_000_000_000,
  }).app;

const QUERY = "?endpoint=Records&characteristic=pH&field=Id";
const CHANGED = "Settings changed: press Show to update.";

/** Opens the page with results, in an access mode. */
const openResults = (
  access: AppOptions["access"] = "public",
  options: PageOptions = {},
) =>
  openPage(appOf(access), {
    query: QUERY,
    headers: Object.fromEntries(modes)[access]!,
    ...options,
  });

const input = ({ find }: OpenPage, name: string) => find(`form [name=${name}]`);
const status = ({ find }: OpenPage) => find("#form-status").textContent;
const isBusy = ({ find }: OpenPage) => find("[type=submit]").getAttribute("aria-busy");

/** Sets a control's value as a user does. */
async function change(page: OpenPage, name: string, value: string): Promise<void> {
  const control = input(page, name);
  control.value = value;
  await control.dispatch("input");
}

const linkUrls = ({ document }: OpenPage) =>
  document.querySelectorAll("#results a").map((link) => link.getAttribute("href"));

/** Asserts that the results cannot be used, because they do not match the form. */
function assertBlocked(page: OpenPage): void {
  const { document, find } = page;
  assertEquals(status(page), CHANGED);
  assert(linkUrls(page).length > 0 && linkUrls(page).every((url) => url === null));
  assert(document.querySelectorAll("#results button").every(({ disabled }) => disabled));
  assertEquals(find("#results .notice").hidden, false);
  const usable = find("#results").children.filter((part) => part.getAttribute("inert") === null);
  assertEquals(usable.map(({ id, className }) => id || className), [
    "results-heading",
    "notice",
    "download-status",
  ]);
}

/** Asserts that the results can be used. */
function assertUsable(page: OpenPage): void {
  const { document, find } = page;
  assertEquals(status(page), "");
  assert(linkUrls(page).length > 0 && linkUrls(page).every((url) => url !== null));
  assert(document.querySelectorAll("#results button").every(({ disabled }) => !disabled));
  assertEquals(find("#results .notice").hidden, true);
  assertEquals(document.querySelectorAll("[inert]").length, 0);
}

Deno.test("script changes the page on load as recorded", DEADLINE, async () => {
  const lines: string[] = [];
  for (const [access, headers] of modes) {
    for (const query of ["", QUERY]) {
      const app = appOf(access);
      // The first response has no list of datasets.
      await (await app.request("/", { headers })).text();
      const before = pageLines(await (await app.request(`/${query}`, { headers })).text());
      const { document } = await openPage(app, { query, headers });
      const after = document.root.children.flatMap((child) => toLines(child));
      lines.push(`# ${access}, GET /${query}`, "", ...differingLines(before, after), "");
    }
  }
  await assertGolden(lines.join("\n"), "page/script_on_load.txt");
});

for (const [access] of modes) {
  Deno.test(
    `script copies each snippet to the clipboard when access is ${access}`,
    DEADLINE,
    async () => {
      const page = await openResults(access);
      const codes = page.document.querySelectorAll("#results .snippets code");
      const buttons = page.document.querySelectorAll("#results .snippets button");
      assertEquals(buttons.map((button) => button.getAttribute("aria-label")), [
        "Copy: URL",
        "Copy: Excel",
        "Copy: R",
        "Copy: Python, pandas",
        "Copy: Shell, curl",
      ]);
      for (const button of buttons) {
        assertEquals([button.type, button.textContent], ["button", "Copy"]);
        await button.click();
        assertEquals(button.textContent, "Copied");
        assertEquals(page.runTimers(), [2000]);
        assertEquals(button.textContent, "Copy");
      }
      assertEquals(page.copied, codes.map(({ textContent }) => textContent));
      assert(page.copied.every((text) => text.includes("http://localhost/Records.csv?")));
    },
  );
}

Deno.test(
  "script shows that copying failed when the browser does not allow it",
  DEADLINE,
  async () => {
    const page = await openResults("public", {
      clipboard: { writeText: () => Promise.reject(new Error("denied")) },
    });
    const button = page.find("#results .snippets button");
    await button.click();
    assertEquals(button.textContent, "Copy failed");
    page.runTimers();
    assertEquals(button.textContent, "Copy");
  },
);

Deno.test("script adds no copy buttons when the browser has no clipboard", DEADLINE, async () => {
  const { document } = await openResults("public", { clipboard: undefined });
  assertEquals(document.querySelectorAll("#results button").length, 0);
});

Deno.test(
  "script shows and enables only the fields of the chosen endpoint",
  DEADLINE,
  async () => {
    const page = await openPage(appOf("public"));
    const shown = () =>
      page.document.querySelectorAll("[data-fields]").filter(({ hidden, disabled }) => {
        assertEquals(hidden, disabled);
        return !hidden;
      }).map(({ dataset }) => dataset.fields);
    assertEquals(shown(), ["Records"]);
    for (const name of ["Observations", "Locations", "Metadata", "Records"]) {
      const choice = page.find(`input[value=${name}]`);
      choice.checked = true;
      await choice.dispatch("change");
      assertEquals(shown(), [name]);
    }
  },
);

Deno.test(
  "script shows the field for a key, which is hidden without a script",
  DEADLINE,
  async () => {
    const hidden: boolean[] = [];
    const restore: PageOptions["restore"] = (document) => {
      hidden.push(document.querySelector(".credential")!.hidden);
    };
    const { find } = await openPage(appOf("caller"), { restore });
    assertEquals([...hidden, find(".credential").hidden], [true, false]);
  },
);

const settings: [name: string, value: string][] = [
  ["region", "admin.4.ca.pe"],
  ["characteristic", "Nitrate"],
  ["from", "2015"],
  ["to", "2015"],
  ["west", "1"],
  ["south", "1"],
  ["east", "1"],
  ["north", "1"],
];
Deno.test("script blocks the results while the form does not match them", DEADLINE, async () => {
  const page = await openResults();
  const links = linkUrls(page);
  assertUsable(page);
  for (const [name, value] of settings) {
    const before = input(page, name).value;
    await change(page, name, value);
    assertBlocked(page);
    // White space is not a setting.
    await change(page, name, ` ${before} `.replace("  ", ""));
    assertUsable(page);
    assertEquals(linkUrls(page), links);
  }
  for (const selector of ["[name=dataset]", "[data-fields=Records] [value=DOI]"]) {
    const box = page.find(`form ${selector}`);
    for (const isOn of [true, false]) {
      box.checked = isOn;
      await box.dispatch("change");
      if (isOn) assertBlocked(page);
      else assertUsable(page);
    }
  }
  page.find("input[value=Observations]").checked = true;
  await page.find("input[value=Observations]").dispatch("change");
  assertBlocked(page);
});

Deno.test(
  "script blocks the results when the lifetime of signed links changes",
  DEADLINE,
  async () => {
    const page = await openResults("signed");
    await change(page, "days", "30");
    assertBlocked(page);
    await change(page, "days", "7");
    assertUsable(page);
  },
);

Deno.test("script allows the results when only the key or token changes", DEADLINE, async () => {
  for (const access of ["caller", "token", "signed"] as const) {
    const page = await openResults(access);
    page.find("#credential").value = "another";
    await page.find("#credential").dispatch("input");
    assertUsable(page);
  }
});

Deno.test(
  "script blocks the results on load when the browser restored another value",
  DEADLINE,
  async () => {
    const restore: PageOptions["restore"] = (document) => {
      document.querySelector("form [name=characteristic]")!.value = "Nitrate";
    };
    const page = await openResults("public", { restore });
    assertBlocked(page);
    await change(page, "characteristic", "pH");
    assertUsable(page);
  },
);

Deno.test(
  "script blocks the results when the browser restores another value after it ran",
  DEADLINE,
  async () => {
    const page = await openResults();
    input(page, "characteristic").value = "Nitrate";
    assertUsable(page);
    page.dispatch("pageshow", { persisted: false });
    assertBlocked(page);
  },
);

Deno.test(
  "script blocks the results when the back/forward cache restores an edited form",
  DEADLINE,
  async () => {
    const page = await openResults();
    input(page, "characteristic").value = "Nitrate";
    page.dispatch("pageshow", { persisted: true });
    assertBlocked(page);
  },
);

Deno.test(
  "script shows that results are loading until the back/forward cache restores the page",
  DEADLINE,
  async () => {
    const page = await openResults();
    assertEquals([isBusy(page), status(page)], [null, ""]);
    const { defaultPrevented } = await page.find("form").dispatch("submit");
    assertEquals([defaultPrevented, isBusy(page), status(page)], [false, "true", "Loading…"]);
    page.dispatch("pageshow", { persisted: false });
    assertEquals(isBusy(page), "true");
    page.dispatch("pageshow", { persisted: true });
    assertEquals([isBusy(page), status(page)], ["false", ""]);
  },
);

Deno.test(
  "script shows that results are loading until every navigation is stopped",
  DEADLINE,
  async () => {
    const page = await openResults();
    const form = page.find("form");
    await form.dispatch("submit");
    await form.dispatch("submit");
    await change(page, "from", "2015");
    assertEquals([isBusy(page), status(page)], ["true", "Loading…"]);
    page.dispatchNavigation("navigateerror");
    assertEquals(isBusy(page), "true");
    page.dispatchNavigation("navigateerror");
    assertEquals([isBusy(page), status(page)], ["false", CHANGED]);
    page.dispatchNavigation("navigateerror");
    assertEquals(isBusy(page), "false");
    await form.dispatch("submit");
    assertEquals(isBusy(page), "true");
  },
);

Deno.test(
  "script shows that results are loading until the form changes when there is no Navigation API",
  DEADLINE,
  async () => {
    const page = await openResults("public", { hasNavigation: false });
    await page.find("form").dispatch("submit");
    assertEquals(status(page), "Loading…");
    await change(page, "from", "2015");
    assertEquals([isBusy(page), status(page)], ["false", CHANGED]);
  },
);

/** Creates a `fetch` that records requests, and resolves when the test calls `answer`. */
function heldFetch(): {
  fetch: NonNullable<PageOptions["fetch"]>;
  sent: { url: string; headers: Headers; signal: AbortSignal | null | undefined }[];
  /** Answers the last request. */
  answer: (response: Response | Error) => void;
  /** Resolves at the first request. */
  requested: Promise<void>;
} {
  const sent: ReturnType<typeof heldFetch>["sent"] = [];
  const { promise: requested, resolve: resolveRequested } = Promise.withResolvers<void>();
  let last: PromiseWithResolvers<Response>;
  return {
    sent,
    fetch: (url, { headers, signal } = {}) => {
      sent.push({ url, headers: new Headers(headers), signal });
      const held = last = Promise.withResolvers<Response>();
      resolveRequested();
      signal?.addEventListener("abort", () => held.reject(signal.reason));
      return held.promise;
    },
    answer: (response) =>
      response instanceof Error ? last.reject(response) : last.resolve(response),
    requested,
  };
}

for (
  const [access, name, value] of [
    ["caller", "x-api-key", "sandbox"],
    ["token", "authorization", `Bearer ${token}`],
    ["signed", "authorization", `Bearer ${token}`],
  ] as const
) {
  Deno.test(
    `script shows results in the page, without the credential in a URL, when access is ${access}`,
    DEADLINE,
    async () => {
      const app = appOf(access);
      const { fetch, sent, answer } = heldFetch();
      const page = await openPage(app, { fetch });
      page.find("#credential").value = ` ${value.replace("Bearer ", "")} `;
      await change(page, "dataset", "10.25976/weir-bb00 , 10.25976/weir-aa00,10.25976/weir-bb00");
      await change(page, "characteristic", " pH ");
      const shown = page.find("form").dispatch("submit");
      assertEquals([isBusy(page), status(page)], ["true", "Loading…"]);
      assertEquals(sent.map(({ url }) => url), [
        "/?characteristic=pH&dataset=10.25976%2Fweir-aa00&dataset=10.25976%2Fweir-bb00" +
        (access === "signed" ? "&days=7" : "") + "&endpoint=Records",
      ]);
      assertEquals([...sent[0]!.headers], [[name, value]]);
      answer(await app.request(sent[0]!.url, { headers: sent[0]!.headers }));
      const { defaultPrevented } = await shown;
      assertEquals([defaultPrevented, isBusy(page), status(page)], [true, "false", ""]);
      const heading = page.find("#results-heading");
      assertMatch(heading.textContent, /^\d+ measurements?$/);
      assert(page.document.activeElement === heading && page.document.inView === heading);
      assertEquals(page.document.querySelectorAll("#results .snippets button").length, 5);
      assertUsable(page);
      // The list of datasets, which is known now, takes the place of the text field.
      const boxes = page.document.querySelectorAll("form [name=dataset]");
      assertEquals(boxes.map(({ type }) => type), Array(5).fill("checkbox"));
      assertEquals(boxes.filter(({ checked }) => checked).length, 2);
      assertEquals(
        page.document.querySelectorAll("[data-needs-header]").map(({ hidden }) => hidden),
        // One button for each format, and one for Excel.
        access === "signed" ? [] : Array(formatsOf("Records").length + 1).fill(false),
      );
      await change(page, "characteristic", "Nitrate");
      assertBlocked(page);
    },
  );
}

Deno.test("script sends no header when there is no key", DEADLINE, async () => {
  const { fetch, sent, answer } = heldFetch();
  const page = await openPage(appOf("caller"), { fetch });
  page.find("#credential").value = " ";
  const shown = page.find("form").dispatch("submit");
  assertEquals([...sent[0]!.headers], []);
  answer(new Error("reset"));
  await shown;
});

const html = { "content-type": "text/html" };
const faults: [name: string, response: () => Response | Error, message: string][] = [
  ["the connection breaks", () => new Error("reset"), "reset"],
  [
    "the response is a problem",
    () => Response.json({ detail: "Too much", hint: "ask for less" }, { status: 400 }),
    "Too much: ask for less",
  ],
  [
    "the response is neither a page nor a problem",
    () => new Response("x", { status: 502 }),
    "status 502",
  ],
  [
    "the response is another page",
    () => new Response("<html></html>", { status: 200, headers: html }),
    "unexpected response with status 200",
  ],
];
for (const [name, response, message] of faults) {
  Deno.test(`script shows an error when ${name}`, DEADLINE, async () => {
    const { fetch, answer } = heldFetch();
    const page = await openPage(appOf("token"), { fetch });
    const shown = page.find("form").dispatch("submit");
    answer(response());
    await shown;
    assertEquals(page.find("#results").children.flatMap((child) => toLines(child)), [
      '<h2 id="results-heading" tabindex="-1">No results</h2>',
      `<p class="alert" role="alert">The request failed (${message}). Press Show to try again.</p>`,
    ]);
    assert(page.document.activeElement === page.find("#results-heading"));
    assertEquals([isBusy(page), status(page)], ["false", ""]);
  });
}

Deno.test("script shows only the results of the last submit", DEADLINE, async () => {
  const app = appOf("token");
  const { fetch, sent, answer } = heldFetch();
  const page = await openPage(app, { fetch });
  const first = page.find("form").dispatch("submit");
  await change(page, "characteristic", "pH");
  const second = page.find("form").dispatch("submit");
  assertEquals(sent.map(({ signal }) => signal?.aborted), [true, false]);
  await first;
  assertEquals([isBusy(page), page.find("#results").children.length], ["true", 0]);
  answer(await app.request(sent[1]!.url, { headers: bearer }));
  await second;
  assertUsable(page);
});

Deno.test(
  "script blocks results that arrive after the form changed, and does not move the focus",
  DEADLINE,
  async () => {
    const app = appOf("token");
    const { fetch, sent, answer } = heldFetch();
    const page = await openPage(app, { fetch });
    const shown = page.find("form").dispatch("submit");
    input(page, "characteristic").focus();
    await change(page, "characteristic", "pH");
    answer(await app.request(sent[0]!.url, { headers: bearer }));
    await shown;
    assertBlocked(page);
    assert(page.document.activeElement === input(page, "characteristic"));
  },
);

/** Opens results whose downloads need a header, and returns the link to the CSV. */
async function openDownload(options: PageOptions) {
  const page = await openResults("caller", options);
  page.find("#credential").value = "sandbox";
  const link = page.find("#results .buttons a");
  return { page, link, report: () => page.find("#download-status").textContent };
}

Deno.test("script sends the key in a header when it saves a download", DEADLINE, async () => {
  const { fetch, sent, answer, requested } = heldFetch();
  const { page, link, report } = await openDownload({ fetch });
  const clicked = link.click();
  assertEquals(report(), "Requesting the first page…");
  await requested;
  assertEquals(sent.map(({ url, headers }) => [new URL(url).pathname, [...headers]]), [
    ["/Records.csv", [["x-api-key", "sandbox"]]],
  ]);
  answer(
    new Response("Id\r\n", {
      headers: {
        "content-disposition": "attachment; filename=\"ph.csv\"; filename*=UTF-8''ph.csv",
      },
    }),
  );
  assertEquals((await clicked).defaultPrevented, true);
  assertEquals(await page.saved(), { "ph.csv": "Id\r\n" });
  assertEquals(report(), "Complete: 0.0 MB");
  assertEquals([page.released, page.runTimers(), page.released], [["blob:1"], [60_000], [
    "blob:1",
  ]]);
});

Deno.test(
  "script reports the progress of a download at most every five seconds",
  DEADLINE,
  async () => {
    const cases: [milliseconds: number, expected: string][] = [
      [4_999, "Requesting the first page…"],
      [5_000, "1.5 MB received…"],
    ];
    for (const [milliseconds, expected] of cases) {
      const now = { value: 0 };
      const seen: string[] = [];
      let chunks = 0;
      const pull = (controller: ReadableStreamDefaultController) => {
        seen.push(page.find("#download-status").textContent);
        if (++chunks === 3) return controller.close();
        if (chunks === 2) now.value += milliseconds;
        controller.enqueue(new Uint8Array(chunks === 1 ? 1_000_000 : 549_999));
      };
      const body = () => new ReadableStream({ pull }, { highWaterMark: 0 });
      const fetch = () => Promise.resolve(new Response(body()));
      const { page, link, report } = await openDownload({ fetch, now });
      await link.click();
      assertEquals(seen.at(-1), expected);
      assertEquals(report(), "Complete: 1.5 MB");
      const { "records.csv": text } = await page.saved();
      assertEquals(text?.length, 1_549_999);
    }
  },
);

const brokenDownloads: [name: string, response: () => Response | Error, message: string][] = [
  ["breaks", () => new Error("reset"), "reset"],
  [
    "is refused",
    () => Response.json({ detail: "No", hint: "ask" }, { status: 403 }),
    "No: ask",
  ],
];
for (const [name, response, message] of brokenDownloads) {
  Deno.test(
    `script shows an error and saves no file when a download ${name}`,
    DEADLINE,
    async () => {
      let removed = 0;
      const { fetch, answer, requested } = heldFetch();
      const { page, link, report } = await openDownload({
        fetch,
        showSaveFilePicker: () => Promise.resolve({ remove: () => Promise.resolve(removed++) }),
      });
      const clicked = link.click();
      await requested;
      answer(response());
      await clicked;
      assertEquals(
        report(),
        `The download failed and no file was saved (${message}). Try again.`,
      );
      assertEquals([removed, page.document.saved.length], [1, 0]);
    },
  );
}

Deno.test("script writes a download to the chosen file", DEADLINE, async () => {
  const written: Uint8Array[] = [];
  const suggested: string[] = [];
  const { page, link, report } = await openDownload({
    showSaveFilePicker: ({ suggestedName }) => {
      suggested.push(suggestedName);
      const createWritable = () =>
        Promise.resolve(new WritableStream({ write: (chunk) => void written.push(chunk) }));
      return Promise.resolve({ createWritable });
    },
  });
  await link.click();
  assertEquals([suggested, page.document.saved.length], [["records.csv"], 0]);
  const text = await new Blob(written as Uint8Array<ArrayBuffer>[]).text();
  assertMatch(text, /^Id\r\n(\d+\r\n)+$/);
  assertEquals(report(), "Complete: 0.0 MB");
});

Deno.test("script downloads nothing when no file was chosen", DEADLINE, async () => {
  for (const [name, expected] of [["AbortError", ""], ["Error", "The file dialog failed: no"]]) {
    const { fetch, sent } = heldFetch();
    const error = Object.assign(new Error("no"), { name });
    const { link, report } = await openDownload({
      fetch,
      showSaveFilePicker: () => Promise.reject(error),
    });
    assertEquals((await link.click()).defaultPrevented, true);
    assertEquals([report(), sent], [expected, []]);
  }
});

Deno.test("script downloads nothing when the results are blocked", DEADLINE, async () => {
  const { fetch, sent } = heldFetch();
  const { page, link, report } = await openDownload({ fetch });
  await change(page, "characteristic", "Nitrate");
  assertEquals((await link.click()).defaultPrevented, true);
  assertEquals([report(), sent], ["", []]);
});
