import { TOOL_IDS } from "./tools.ts";

const COLOURS = `--paper: light-dark(#fff, #0f1a1f); --panel: light-dark(#f3f7f8, #15242a);
  --ink: light-dark(#10262e, #e6eff2); --soft: light-dark(#4a626c, #a6bac2);
  --accent: light-dark(#0b5c73, #7fd0e6); --on-accent: light-dark(#fff, #06222b);
  --edge: light-dark(#71868f, #78909a); --line: light-dark(#d3dee2, #2a3f48);
  --wash: light-dark(#e3f0f4, #1b3640); --notice-edge: #b88600;
  --notice: light-dark(#5b4200, #f3dc9b); --notice-wash: light-dark(#fff4d6, #33290c);
  --alert: light-dark(#9b1c12, #ffb4ab); --alert-wash: light-dark(#fdecea, #3c1512);
  --land: light-dark(#e4e9e6, #22343b); --neighbour: light-dark(#eff1ee, #1b2a30);
  --water: light-dark(#eaf3f7, #0b161b); --lake: light-dark(#d3e5ec, #0c2a36);
  --coast: light-dark(#a9b7bb, #46606a); --grid: light-dark(#d9e5ea, #16262d);
  --series-0: light-dark(#0b5c73, #7fd0e6); --series-1: light-dark(#c2500a, #ff9f5c);
  --series-2: light-dark(#7a4fb0, #c3a3f2); --series-3: light-dark(#2f7d32, #86d08a);
  --series-4: light-dark(#b3306e, #ff8fbf); --series-5: light-dark(#7a6412, #e0c65a);
  --series-6: light-dark(#84949a, #64808a); --series-7: var(--soft);`;

// The style sheet. Paper has the colours of light screens, and so has a browser of before 2024, without `light-dark()`.
export const STYLE = `:root {
  color-scheme: light dark; --gutter: 24px;
  ${COLOURS}
}
@supports not (color: light-dark(#fff, #000)) {
  :root { color-scheme: light; ${COLOURS.replace(/light-dark\((#\w+), #\w+\)/g, "$1")} }
}
* { box-sizing: border-box; min-width: 0; }
[hidden] { display: none !important; }
html { scroll-padding-top: 16px; }
body {
  margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.5 -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
h1, h2, h3, p, ul, dl, dd, fieldset, legend, pre, table { margin: 0; padding: 0; border: 0; }
h1 { font-size: 28px; line-height: 1.25; letter-spacing: -.01em; }
h2 { font-size: 20px; line-height: 1.3; }
ul { list-style: none; }
a { color: var(--accent); text-underline-offset: 2px; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: 13px; }
small, .note, .caption, .credential p, .title p, .download-bar p, .facts-list dt, .chart-links, .tools legend, .path, footer {
  font-size: 13px; color: var(--soft);
}
:focus-visible, .chips:focus-within, :is(.chip, .tools label):has(:focus-visible), .tabs :focus-visible + label {
  outline: 3px solid var(--accent); outline-offset: 1px; z-index: 1;
}
#count:focus, #results:focus, .chips > input { outline: none; }
.hidden, .chart-table:not(:target), .measured caption, .tabs input { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 16px; top: 8px; z-index: 9; background: var(--paper); padding: 8px; }
.narrow, .fold, .download-bar, .map-narrow, .measurements .details, html:not(.scripted) .copy, body:not(.stale) :is(#stale, #stale-reason), .tabs :not(:checked) + label + pre { display: none; }

.top, .synthetic, .query, .fold, #results, footer { max-width: 1440px; margin-inline: auto; padding: 16px var(--gutter); }
.top, .brand, .top nav, .wide { display: flex; align-items: center; gap: 12px; }
.top { padding-block: 12px; border-bottom: 1px solid var(--line); }
.top nav, .wide { margin-left: auto; gap: var(--gutter); font-size: 14px; }
.brand, .top nav { flex: none; }
.brand { font-size: 20px; }
.brand, .wide a:not(:hover) { color: inherit; text-decoration: none; }
.tagline, .facts { color: var(--soft); }
.synthetic { padding-block: 4px; background: var(--notice-wash); color: var(--notice); font-size: 13px; }
footer { border-top: 1px solid var(--line); margin-top: 32px; padding-block: 24px; }

.query, .fold { background: var(--panel); box-shadow: 0 1px var(--line); }
.query > .row { display: flex; flex-wrap: wrap; gap: 12px 16px; align-items: start; }
:where(.row) > .show { margin-top: 28px; }
.where, .years { flex: 3 1 216px; }
:where(.query, .credential) :is(label, legend), h3 { font-size: 14px; font-weight: 600; }
.query label > :is(input, select), .where input, .reasons p + p { margin-top: 4px; }
input, select, button, .button, .chips {
  font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px;
  height: 44px; padding: 0 12px; width: 100%;
}
.query :is(input, select) { font-weight: 400; }
input::placeholder { color: var(--soft); opacity: 1; }
input:is([type=radio], [type=checkbox]) { width: 20px; height: 20px; margin: 0; accent-color: var(--accent); flex: none; }
button, .button { width: auto; font-weight: 600; cursor: pointer; color: var(--accent); padding: 0 20px; flex: none; }
.button { display: inline-flex; align-items: center; text-decoration: none; }
.what { position: relative; flex: 5 1 360px; }
.chips { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; height: auto; min-height: 44px; padding: 0 4px 0 12px; margin-top: 4px; }
.chips > input { flex: 1; min-width: 120px; border: 0; height: 40px; padding: 0; background: none; }
.chip { display: inline-flex; gap: 4px; align-items: center; background: var(--wash); border-radius: 4px; padding: 4px 8px; font-weight: 400; cursor: pointer; }
.chip input { width: 14px; height: 14px; }
.scripted .chip input { position: absolute; opacity: 0; }
.chip:has(input:not(:checked)) { text-decoration: line-through; color: var(--soft); }
.years { display: grid; grid-template-columns: 1fr auto 1fr; gap: 8px; align-items: center; }
.years legend, .box legend { line-height: 24px; margin-bottom: 4px; }
.more, .clear { display: inline-block; margin: 12px 24px 0 0; font-size: 14px; }
.more[open] { display: block; }
summary { color: var(--accent); cursor: pointer; }
summary span { text-decoration: underline; }
.more .row, .box { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 16px; margin-top: 12px; }
.box { grid-template-columns: repeat(auto-fill, minmax(130px, 1fr)); max-width: 640px; }
.credential { display: grid; grid-template-columns: auto minmax(200px, 400px) 1fr; gap: 12px; align-items: center; margin-bottom: 16px; }

#suggestions, .chart-value { position: absolute; }
#suggestions, .map-card, .chart-value { font-size: 13px; box-shadow: 0 4px 16px #0003; }
#suggestions, .map-card, .chart-value, .map-buttons a { background: var(--paper); color: var(--ink); border: 1px solid var(--edge); border-radius: 6px; }
#suggestions { z-index: 5; inset: 100% 0 auto; margin-top: 4px; padding: 8px 0; }
#suggestions .group { padding: 4px 12px; font-weight: 600; color: var(--soft); }
#suggestions [role=option] { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; padding: 4px 12px; font-size: 14px; cursor: pointer; }
#suggestions [aria-selected=true] { background: var(--wash); }
#suggestions b { text-decoration: underline; text-decoration-thickness: 2px; }
#suggestions .foot { border-top: 1px solid var(--line); margin-top: 8px; padding: 8px 12px 0; color: var(--soft); }

#results { padding-block: 24px; }
.heading { display: grid; grid-template-columns: 1fr auto; align-items: baseline; gap: 0 16px; margin-bottom: 16px; }
.heading > div { display: contents; }
.heading .facts { grid-area: 2 / 1 / auto / 3; }
.number .facts { font-size: 13px; margin-bottom: 12px; }
.copy-link { font-size: 14px; white-space: nowrap; }
.columns { display: grid; grid-template-columns: 2fr minmax(320px, 1fr); gap: 24px; align-items: start; }
.lead, .rail { display: grid; gap: 16px; }
.lead { gap: 24px; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: 16px; }
.title, .caption, .facts-list { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 4px 16px; }
.title { margin-bottom: 8px; }
.title h2 span, .chart-legend span span { color: var(--soft); font-weight: 400; }
.info, .notice, .alert { border-left: 4px solid var(--accent); background: var(--panel); padding: 12px 16px; margin-bottom: 16px; }
.notice { border-color: var(--notice-edge); background: var(--notice-wash); }
.alert { border-color: var(--alert); background: var(--alert-wash); }
h1 ~ :is(.notice, .info) { margin-top: 16px; }
.near { grid-column: 1 / -1; margin: 8px 0 0; padding: 8px 12px; font-size: 14px; }
main:has(.near) #results { scroll-margin-top: 100vh; }
.info progress { width: 100%; height: 8px; accent-color: var(--accent); }
.link, .copy { border: 0; background: none; padding: 0; height: auto; text-decoration: underline; font-weight: 400; }
.copy { font-size: 13px; }

.tools { display: grid; grid-template-columns: repeat(3, 1fr); border: 1px solid var(--edge); border-radius: 6px; margin-top: 24px; position: relative; }
.tools legend { position: absolute; top: -22px; left: -1px; }
.tools label { position: relative; display: grid; place-items: center; min-height: 38px; font-size: 14px; border: 0 solid var(--line); cursor: pointer; }
.tools label:not(:nth-of-type(3n)) { border-right-width: 1px; }
.tools label:nth-of-type(n + 4) { border-top-width: 1px; }
.tools label:last-of-type:nth-of-type(3n + 1) { grid-column: 1 / -1; border-right-width: 0; }
.tools input[type] { position: absolute; inset: 0; width: 100%; height: 100%; opacity: 0; cursor: pointer; }
.tools label:has(:checked) { background: var(--wash); color: var(--accent); font-weight: 600; box-shadow: inset 0 -3px var(--accent); }
.choices { display: flex; gap: 20px; margin: 12px 0; font-size: 14px; }
.choices label { display: flex; gap: 10px; align-items: center; cursor: pointer; }
.choices small { display: block; }
.download, body.stale .show { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
.download { width: 100%; margin-top: 4px; }
.download:disabled { background: var(--paper); color: var(--soft); border-color: var(--edge); cursor: not-allowed; }
.file { margin-top: 8px; color: var(--soft); }
${
  [
    ...TOOL_IDS.map((id) => [id, `[name=tool][value=${id}]:checked`]),
    ...["main", "all"].map((id) => [id, `[name=columns][value=${id}]:checked`]),
    ["tidy", "[name=tidy][type=checkbox]:checked"],
    ["untidy", "[name=tidy][type=checkbox]:not(:checked)"],
  ].map(([id, state]) => `body:not(:has(${state})) .for-${id} { display: none; }`).join("\n")
}
body:has([name=tool][value=qgis]:checked) .choices, body.stale .lead { opacity: .5; }
[aria-busy=true] { opacity: .6; cursor: progress; }
.download-bar { position: fixed; z-index: 4; inset: auto 0 0; padding: 8px 16px; background: var(--paper); border-top: 1px solid var(--line); }
.download-bar .download { width: auto; margin: 0; }

.tabs { display: flex; flex-wrap: wrap; margin: 0 -16px -16px; }
.tabs label { order: 1; padding: 8px 16px; font-size: 14px; cursor: pointer; border-bottom: 3px solid transparent; }
.tabs :checked + label { color: var(--accent); font-weight: 600; border-color: var(--accent); }
.tabs pre { order: 2; width: 100%; padding: 16px; background: var(--panel); border-top: 1px solid var(--line); white-space: pre-wrap; border-radius: 0 0 6px 6px; }
.cite { font-size: 14px; }
.cite .title p { display: flex; gap: 8px; }
.cite li { border-top: 1px solid var(--line); padding: 8px 0; }
.reading { max-width: 800px !important; }
.reading h2 { margin-top: 24px; }
.datasets li, .fields div { padding: 8px 0; border-bottom: 1px solid var(--line); }
.fields dt, .facts-list dd { font-weight: 600; }
.fields code { font-weight: 400; color: var(--soft); }
.facts-list { gap: 12px 24px; margin: 16px 0 24px; padding: 16px 0; border: solid var(--line); border-width: 1px 0; }
.path, .measured { margin-block: 8px; }
.abstract { max-width: 65ch; margin: 4px 0 12px; white-space: pre-line; }
table { width: 100%; border-collapse: collapse; font-size: 14px; overflow-wrap: break-word; }
:is(th, td) { text-align: left; padding: 8px; border-bottom: 1px solid var(--line); vertical-align: baseline; }
thead th { font-size: 13px; color: var(--soft); background: var(--panel); }
.measured :is(th, td):nth-child(even), .chart-table :is(th, td):not(:first-child) { text-align: right; }
.measured th[scope=row] { font-weight: 400; }

.map-frame { display: grid; container-type: inline-size; }
.map { position: relative; align-self: start; overflow: hidden; border: 1px solid var(--line); border-radius: 6px; background: var(--water); }
.map svg, .chart svg, .bars { display: block; width: 100%; }
.map-land path { fill: none; stroke: var(--coast); vector-effect: non-scaling-stroke; stroke-width: .8; stroke-linejoin: round; }
.map-land .map-grid { stroke: var(--grid); }
.map-land .map-neighbours { fill: var(--neighbour); }
.map-land .map-land { fill: var(--land); }
.map-land .map-lakes { fill: var(--lake); }
.map-land .map-provinces { stroke-dasharray: 5 4; }
.map-land :is(.map-box, .map-handles) { fill: var(--paper); stroke: var(--accent); stroke-width: 2; }
.map-land .map-box { fill: color-mix(in srgb, var(--accent) 10%, transparent); stroke-dasharray: 6 4; }
.map-land .map-scale { stroke: var(--soft); stroke-width: 1; }
.map-points { position: absolute; inset: 0; height: 100%; }
.map-points text, .map-place { font-size: 12px; fill: var(--soft); }
.map-label { stroke: var(--land); stroke-width: 3; stroke-opacity: .8; stroke-linejoin: round; paint-order: stroke; }
.map-point text, .map-distance, .chart-times text, .bars .bars-year { text-anchor: middle; }
.map-point circle { fill: var(--accent); stroke: var(--paper); stroke-width: 1.5; }
.map-point text { fill: var(--on-accent); font-weight: 700; }
.map-other circle { fill: var(--paper); stroke: var(--edge); stroke-width: 2; }
.map-other text { fill: var(--ink); font-weight: 400; }
.map-point:is(:hover, :focus-visible) circle, .map-point .map-ring { stroke: var(--ink); stroke-width: 2.5; }
.map-point .map-ring { fill: none; pointer-events: none; }
.map-buttons { position: absolute; inset: 12px; display: grid; gap: 4px; align-content: start; justify-content: end; justify-items: end; pointer-events: none; }
.map-buttons a { display: grid; place-items: center; width: 36px; height: 36px; font-size: 20px; line-height: 1; text-decoration: none; pointer-events: auto; }
.map-buttons :is(.map-draw, .map-word) { width: auto; min-width: 36px; padding: 0 4px; font-size: 12px; }
.map, .map-legend, .map-card { grid-area: 1 / 1; }
.map-frame > .note { margin-top: 4px; }
#results > .map-frame { margin-bottom: 24px; }
.map-moves a { position: absolute; width: 28px; height: 24px; font-size: 10px; color: var(--soft); border-color: var(--line); opacity: .8; }
.map-moves :nth-child(-n + 2) { left: calc(62% - 14px); top: -8px; }
.map-moves :nth-child(n + 3) { top: calc(66% - 12px); left: -8px; }
.map-moves :nth-child(2) { top: auto; bottom: -8px; }
.map-moves :nth-child(4) { left: auto; right: -8px; }
.map-legend { position: relative; place-self: end start; margin: 12px; display: flex; flex-wrap: wrap; gap: 0 16px; max-width: calc(100% - 190px); padding: 4px 10px; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; font-size: 13px; }
.map-key::before { content: ""; display: inline-block; margin-right: 6px; border-radius: 50%; border: 5px solid var(--accent); }
.map-other::before { padding: 3px; border: 2px solid var(--edge); }
.map-card { position: relative; place-self: end; width: 248px; margin: 0 8px 42px; padding: 8px 12px; }
.map-card p { margin: 4px 0; color: var(--soft); }
.map-card p > * { display: block; }
.map-card strong { font-size: 14px; padding-right: 20px; color: var(--ink); }
.map-close { position: absolute; top: 4px; right: 4px; width: 24px; text-align: center; text-decoration: none; font-size: 18px; }
.drawing { cursor: crosshair; touch-action: none; }
.drawing .map-points { pointer-events: none; }

.chart-card { display: flex; flex-direction: column; container-type: inline-size; }
.chart-card > .note { margin-top: 8px; }
.chart-links { display: flex; flex-wrap: wrap; }
.chart-links > * + *::before { content: "·"; display: inline-block; margin: 0 4px; }
.chart-links summary { display: inline; }
.chart-legend { display: flex; flex-wrap: wrap; gap: 4px 20px; font-size: 13px; margin-bottom: 12px; }
.chart-legend li { padding-left: 20px; text-indent: -20px; }
.chart-legend svg { margin-right: 4px; vertical-align: -3px; }
.chart { position: relative; display: grid; grid-template-columns: 48px 1fr; padding-right: 8px; }
.chart svg, .bars, .chart-legend svg, .chart marker { overflow: visible; }
.chart text, .bars text { font-size: 13px; fill: var(--soft); }
.chart-axis text { text-anchor: end; }
.chart-grid line, .bars .bars-top { stroke: var(--line); }
.chart-times line, .bars line { stroke: var(--edge); }
.chart marker path, .chart-band { fill: currentColor; }
.chart-points { stroke-width: .8; }
.chart-small { stroke-width: .6; }
.chart-medians { stroke-width: 1.3; }
.chart-some .chart-points line { opacity: .5; }
.chart-many .chart-points line { opacity: .25; }
.chart-band { opacity: .14; }
:not(:only-child) > .chart-band { opacity: .08; }
.chart-line { fill: none; stroke: currentColor; stroke-width: 2; vector-effect: non-scaling-stroke; }
.chart-answer { margin-bottom: 8px; }
.chart marker :is(.chart-left, .chart-right) { fill: var(--paper); stroke: currentColor; stroke-width: 1.4; }
${
  Array.from({ length: 8 }, (_, i) => `.chart-series-${i} { color: var(--series-${i}); }`).join(
    "\n",
  )
}
.chart-value { z-index: 1; max-width: 100%; padding: 2px 8px; pointer-events: none; }
.chart-table { margin-top: 16px; }
.chart-table caption { text-align: left; font-weight: 600; padding: 4px 0; }
.bars rect { fill: var(--accent); }

.table-card { padding: 0; container-type: inline-size; }
.table-card .title { padding: 16px 16px 0; }
.table-card .note { padding: 12px 16px; }
.table-wide { overflow-x: auto; }
.places { padding: 16px 0 0; }
.places > :is(h2, .note) { padding: 0 16px 8px; }
.places .table-wide { max-height: 496px; }
.places :is(th, td):first-child { padding-left: 16px; }
.places .table-wide + .note { padding-top: 8px; }
.places small { display: block; }
.places thead th { position: sticky; top: 0; }
.measured [aria-sort] { white-space: nowrap; }
.measured [aria-sort] a::after { content: " ▼"; }
.measured [aria-sort=ascending] a::after { content: " ▲"; }
.measurements :is(th, td):first-child { padding-left: 16px; white-space: nowrap; }
.measurements :is(th, td):last-child { padding-right: 16px; }
.measurements .value { text-align: right; white-space: pre; padding-right: 0; }
.measurements td.value { font-weight: 700; }
.measurements :is(td.unit, td[colspan], .details) { color: var(--soft); font-weight: 400; }
.measurements td.unit { white-space: nowrap; }
.measurements td[colspan] { padding-right: 8px; white-space: normal; }
.measurements th.unit span { position: absolute; clip-path: inset(50%); }
@container (max-width: 640px) {
  .map-wide { display: none; }
  .map-narrow { display: inline; }
}
@container (max-width: 480px) {
  .map-frame :is(.map-legend, .map-card) { grid-area: auto; place-self: auto; width: auto; max-width: none; margin: 4px 0 0; }
  .map-moves { position: absolute; left: 0; bottom: 0; display: flex; gap: 4px; }
  .map-moves a:nth-child(n) { position: static; }
  .chart-times text:nth-of-type(even) { display: none; }
  .chart marker path { transform: scale(.75); }
  .chart-legend { order: 2; flex-direction: column; margin: 12px 0 0; }
  .chart-card > :is(.note, .chart-table) { order: 3; }
  .table :is(table, tbody) { display: block; }
  .table thead { position: absolute; clip-path: inset(50%); }
  .table tr { display: grid; grid-template-columns: 1fr auto auto; align-items: center; gap: 0 6px; padding: 12px 16px; border-bottom: 1px solid var(--line); }
  .table td:is(td, :first-child, :last-child) { padding: 0; border: 0; font-size: 16px; }
  .table td.detail { display: none; }
  .table td:is(.date, .details) { font-size: 13px; color: var(--soft); }
  .table td.location { grid-area: 2 / 1; font-size: 14px; font-weight: 600; }
  .table .details { display: block; font-size: 13px; }
  .table td:is(.value, .unit) { grid-row: 1 / 3; }
}
@media (max-width: 767px) {
  :root { --gutter: 16px; }
  h1 { font-size: 24px; }
  .tagline, .wide { display: none; }
  .show { width: 100%; margin-top: 0; }
  .narrow { display: inline; }
  footer .narrow { display: flex; flex-wrap: wrap; gap: 16px; margin-top: 16px; }
  .measured :is(th, td) { padding-inline: 4px; }
  .credential { grid-template-columns: 1fr; }
  .folded .fold, .download-bar { display: flex; justify-content: space-between; align-items: center; gap: 16px; font-size: 14px; }
  .folded .query:not(:has(:target)), .folded:has(.query :target) .fold { display: none; }
  .columns { display: flex; flex-direction: column; gap: 16px; align-items: stretch; }
  .lead, .rail { display: contents; }
  .columns > * > * { order: 3; }
  .columns :is(.lead > .map-frame, .places) { order: 0; }
  .columns :is(.chart-card, .number) { order: 1; }
  .columns .take { order: 2; }
  .columns .rail > .map-frame { order: 4; }
  .columns :is(.code, .cite) { order: 5; }
  .columns:has(.abstract) > * > :is(*, .chart-card) { order: 0; }
}
@media print {
  :root { color-scheme: light; }
  .map-frame { max-width: 160mm; }
  .places .table-wide { max-height: none; }
  .chart-card, .years-card, .map-frame, tr, li { break-inside: avoid; }
  nav, .map-legend a, .cite .title p, .query, .fold, .take, .download-bar, .copy-link, .skip, .copy, .tabs label, .map-card, .chart-links { display: none !important; }
}
`;

export const ICON =
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="11" fill="#0b5c73"/><path d="M6 17h17c5 0 5 14 10 14h9" fill="none" stroke="#9fe0f2" stroke-width="4" stroke-linecap="round"/><path d="M6 25h11c6 0 5 14 12 14h13" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>`;
