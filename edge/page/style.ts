import { TOOL_IDS } from "./tools.ts";

// The style sheet. The colours are the variables at its beginning; paper has those of light screens.
export const STYLE = `:root {
  color-scheme: light;
  --paper: #fff; --panel: #f3f7f8; --ink: #10262e; --soft: #4a626c; --accent: #0b5c73;
  --on-accent: #fff; --edge: #71868f; --wash: #e3f0f4; --line: #d3dee2; --alert: #9b1c12;
  --alert-wash: #fdecea; --notice: #5b4200; --notice-wash: #fff4d6; --notice-edge: #b88600;
  --land: #e4e9e6; --neighbour: #eff1ee; --water: #eaf3f7; --lake: #d3e5ec; --coast: #a9b7bb;
  --grid: #d9e5ea; --series-0: #0b5c73; --series-1: #c2500a; --series-2: #7a4fb0;
  --series-3: #2f7d32; --series-4: #b3306e; --series-5: #7a6412; --series-6: #84949a; --series-7: var(--soft);
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    color-scheme: dark;
    --paper: #0f1a1f; --panel: #15242a; --ink: #e6eff2; --soft: #a6bac2; --accent: #7fd0e6;
    --on-accent: #06222b; --edge: #78909a; --wash: #1b3640; --line: #2a3f48; --alert: #ffb4ab;
    --alert-wash: #3c1512; --notice: #f3dc9b; --notice-wash: #33290c; --land: #22343b;
    --neighbour: #1b2a30; --water: #0b161b; --lake: #0c2a36; --coast: #46606a; --grid: #16262d;
    --series-0: #7fd0e6; --series-1: #ff9f5c; --series-2: #c3a3f2; --series-3: #86d08a;
    --series-4: #ff8fbf; --series-5: #e0c65a; --series-6: #64808a;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 16px; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
h1, h2, h3, p, ul, dl, dd, fieldset, pre, table { margin: 0; padding: 0; }
h1 { font-size: 28px; line-height: 1.25; letter-spacing: -.01em; }
h2 { font-size: 20px; line-height: 1.3; }
h3 { font-size: 14px; }
ul { list-style: none; }
fieldset { border: 0; min-width: 0; }
legend { padding: 0; }
a { color: var(--accent); text-underline-offset: 2px; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: 13px; }
small, .note, .caption, .credential p, .title p, .download-bar p, .facts-list dt, .chart-links {
  font-size: 13px; color: var(--soft);
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
#count:focus, #results:focus { outline: none; }
.hidden, .chart-table:not(:target) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 16px; top: 8px; z-index: 9; background: var(--paper); padding: 8px; }
.narrow { display: none; }

.top { display: flex; align-items: center; gap: 12px; padding: 12px 24px; border-bottom: 1px solid var(--line); }
.brand { display: flex; align-items: center; gap: 12px; color: inherit; text-decoration: none; font-size: 20px; }
.top nav { margin-left: auto; display: flex; gap: 24px; font-size: 14px; }
.wide { display: flex; gap: 24px; }
.top nav .wide a { color: inherit; text-decoration: none; }
.top nav .wide a:hover { text-decoration: underline; }
.synthetic { padding: 4px 24px; background: var(--notice-wash); color: var(--notice); font-size: 13px; }
.top, .synthetic, .query, .fold, #results, footer { max-width: 1440px; margin-inline: auto; }
footer { border-top: 1px solid var(--line); margin-top: 32px; padding: 24px; font-size: 13px; color: var(--soft); }

.query, .fold { background: var(--panel); padding: 16px 24px; box-shadow: 0 1px var(--line); }
.fold { display: none; }
.query .row { display: grid; grid-template-columns: 5fr 3fr 3fr auto; gap: 16px; align-items: end; }
.query label, .query legend, .credential label { font-size: 14px; font-weight: 600; }
.query label > :is(input, select), .where input, .reasons p + p { margin-top: 4px; }
input, select, button, .button {
  font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px;
  height: 44px; padding: 0 12px; width: 100%; min-width: 0;
}
.query :is(input, select) { font-weight: 400; }
h1 + .notice, h1 + .info { margin-top: 16px; }
input::placeholder { color: var(--soft); opacity: 1; }
input[type=radio], input[type=checkbox] { width: 20px; height: 20px; margin: 0; accent-color: var(--accent); flex: none; }
button, .button { width: auto; font-weight: 600; cursor: pointer; color: var(--accent); padding: 0 20px; }
.button { display: inline-flex; align-items: center; text-decoration: none; }
.what { position: relative; }
.chips { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; min-height: 44px; padding: 0 4px 0 12px; margin-top: 4px; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px; }
.chips > input { flex: 1; min-width: 120px; border: 0; height: 40px; padding: 0; outline: 0; background: none; }
.chip { display: inline-flex; gap: 4px; align-items: center; background: var(--wash); border-radius: 4px; padding: 4px 8px; font-size: 14px !important; font-weight: 400 !important; cursor: pointer; }
.chip input { width: 14px; height: 14px; }
.scripted .chip input { position: absolute; opacity: 0; }
.chips:focus-within, .chip:has(:focus-visible) { outline: 3px solid var(--accent); }
.chip:has(input:not(:checked)) { text-decoration: line-through; color: var(--soft); }
.years { display: grid; grid-template-columns: 1fr auto 1fr; gap: 8px; align-items: center; }
.more { display: inline-block; margin: 12px 24px 0 0; font-size: 14px; }
.more[open] { display: block; }
.more summary::marker { color: var(--accent); }
.more summary span { color: var(--accent); text-decoration: underline; cursor: pointer; }
.more .row { grid-template-columns: repeat(4, 1fr); margin-top: 12px; }
.box { display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px; margin-top: 12px; max-width: 640px; }
.query legend { margin-bottom: 4px; line-height: 24px; }
.clear { display: inline-block; margin-top: 12px; font-size: 14px; }
.credential { display: grid; grid-template-columns: auto minmax(200px, 400px) 1fr; gap: 12px; align-items: center; margin-bottom: 16px; }

#suggestions { position: absolute; z-index: 5; left: 0; right: 0; top: 100%; margin-top: 4px; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px; box-shadow: 0 6px 24px #0003; padding: 8px 0; font-size: 14px; }
#suggestions .group { padding: 4px 12px; font-size: 13px; font-weight: 600; color: var(--soft); }
#suggestions [role=option] { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; padding: 4px 12px; cursor: pointer; }
#suggestions [aria-selected=true] { background: var(--wash); }
#suggestions b { text-decoration: underline; text-decoration-thickness: 2px; }
#suggestions .foot { border-top: 1px solid var(--line); margin-top: 8px; padding: 8px 12px 0; font-size: 13px; color: var(--soft); }

#results { padding: 24px; }
.heading { display: grid; grid-template-columns: 1fr auto; align-items: baseline; gap: 0 16px; margin-bottom: 16px; }
.heading > div { display: contents; }
.heading .facts { grid-area: 2 / 1 / auto / 3; }
.facts { color: var(--soft); font-size: 16px; }
.number .facts { font-size: 13px; margin-bottom: 12px; }
.copy-link { font-size: 14px; white-space: nowrap; }
.columns { display: grid; grid-template-columns: minmax(0, 2fr) minmax(320px, 1fr); gap: 24px; align-items: start; }
.lead, .rail { display: grid; gap: 16px; min-width: 0; }
.lead { gap: 24px; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: 16px; min-width: 0; background: var(--paper); }
.title { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 4px 16px; margin-bottom: 8px; }
.caption { display: flex; justify-content: space-between; gap: 8px; }
.fold .button { flex: none; }
.fold p, .facts, .chip { overflow-wrap: anywhere; min-width: 0; }
.info, .notice, .alert { border-left: 4px solid var(--accent); background: var(--panel); padding: 12px 16px; margin-bottom: 16px; overflow-wrap: anywhere; }
.notice { border-color: var(--notice-edge); background: var(--notice-wash); }
.alert { border-color: var(--alert); background: var(--alert-wash); }
.info progress { width: 100%; height: 8px; accent-color: var(--accent); }
.link { border: 0; background: none; padding: 0; height: auto; text-decoration: underline; font-weight: 400; width: auto; }

.tools { display: grid; grid-template-columns: repeat(3, 1fr); border: 1px solid var(--edge); border-radius: 6px; margin-top: 24px; position: relative; }
.tools legend { position: absolute; top: -22px; left: -1px; font-size: 13px; color: var(--soft); }
.tools label { position: relative; display: grid; place-items: center; min-height: 38px; font-size: 14px; border: 0 solid var(--line); cursor: pointer; }
.tools label:not(:nth-of-type(3n)) { border-right-width: 1px; }
.tools label:nth-of-type(n + 4) { border-top-width: 1px; }
.tools input { position: absolute; inset: 0; width: 100%; height: 100%; opacity: 0; cursor: pointer; }
.tools label:has(:checked) { background: var(--wash); color: var(--accent); font-weight: 600; box-shadow: inset 0 -3px var(--accent); }
.tools label:has(:focus-visible) { outline: 3px solid var(--accent); z-index: 1; }
.choices { display: flex; gap: 20px; margin: 12px 0; font-size: 14px; }
.choices label { display: flex; gap: 10px; align-items: center; cursor: pointer; }
.choices small { display: block; }
.download { width: 100%; background: var(--accent); color: var(--on-accent); border-color: var(--accent); margin-top: 4px; }
.file { margin-top: 8px; overflow-wrap: anywhere; color: var(--soft); }
${
  TOOL_IDS.map((id) =>
    `body:not(:has([name=tool][value=${id}]:checked)) .for-${id} { display: none; }`
  ).join("\n")
}
body:has([name=tool][value=qgis]:checked) .choices { opacity: .5; }
body.stale .download, .download:disabled { background: var(--paper); color: var(--soft); border-color: var(--edge); cursor: not-allowed; }
body.stale .show { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
body.stale .columns .lead { opacity: .5; }
[aria-busy=true] { opacity: .6; cursor: progress; }
.download-bar { position: fixed; z-index: 4; inset: auto 0 0; display: none; align-items: center; justify-content: space-between; gap: 16px; padding: 8px 16px; background: var(--paper); border-top: 1px solid var(--line); }
.download-bar .download { width: auto; margin: 0; }

.tabs { display: flex; flex-wrap: wrap; gap: 0; margin: 0 -16px -16px; border-top: 0; }
.tabs input { position: absolute; opacity: 0; width: 1px; height: 1px; }
.tabs label { order: 1; padding: 8px 16px; font-size: 14px; cursor: pointer; border-bottom: 3px solid transparent; }
.tabs input:checked + label { color: var(--accent); font-weight: 600; border-color: var(--accent); }
.tabs input:focus-visible + label { outline: 3px solid var(--accent); outline-offset: -3px; }
.tabs pre { order: 2; width: 100%; display: none; padding: 16px; background: var(--panel); border-top: 1px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 0 0 6px 6px; }
.tabs input:checked + label + pre { display: block; }
.copy { height: auto; border: 0; padding: 0; background: none; font-weight: 400; font-size: 13px; text-decoration: underline; }
.cite { font-size: 14px; }
.cite .title p { display: flex; gap: 8px; }
.cite li { border-top: 1px solid var(--line); padding: 8px 0; overflow-wrap: anywhere; }
.reading { max-width: 800px !important; }
.datasets li { padding: 12px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.fields div { padding: 8px 0; border-bottom: 1px solid var(--line); }
.fields dt { font-weight: 600; overflow-wrap: anywhere; }
.fields dt code { font-weight: 400; color: var(--soft); }
.reading h2 { margin-top: 24px; }
.path { font-size: 13px; color: var(--soft); margin-bottom: 8px; }
.facts-list { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 12px 24px; margin: 16px 0 24px; padding: 16px 0; border: solid var(--line); border-width: 1px 0; }
.facts-list dd { font-weight: 600; }
:is(.facts-list dt, .measured th)::first-letter { text-transform: uppercase; }
.abstract { max-width: 65ch; margin: 4px 0 12px; white-space: pre-line; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
:is(th, td) { text-align: left; padding: 8px; border-bottom: 1px solid var(--line); }
thead th { font-size: 13px; color: var(--soft); background: var(--panel); }
.measured { margin: 8px 0; }

.map { position: relative; container-type: inline-size; overflow: hidden; border: 1px solid var(--line); border-radius: 6px; background: var(--water); }
.map svg { display: block; }
.map-land { width: 100%; height: auto; }
.map-land path { fill: none; stroke: var(--coast); vector-effect: non-scaling-stroke; stroke-width: .8; stroke-linejoin: round; }
.map-land .map-grid { stroke: var(--grid); }
.map-land .map-neighbours { fill: var(--neighbour); }
.map-land .map-land { fill: var(--land); }
.map-land .map-lakes { fill: var(--lake); }
.map-land .map-provinces { stroke-dasharray: 5 4; }
.map-land .map-box { fill: var(--accent); fill-opacity: .1; stroke: var(--accent); stroke-width: 2; stroke-dasharray: 6 4; }
.map-land .map-handles { fill: var(--paper); stroke: var(--accent); stroke-width: 2; }
.map-land .map-scale { stroke: var(--soft); stroke-width: 1; }
.map-points { position: absolute; inset: 0; width: 100%; height: 100%; }
.map-narrow { display: none; }
.map-label { fill: var(--soft); font-size: 12px; stroke: var(--land); stroke-width: 3; stroke-opacity: .8; stroke-linejoin: round; paint-order: stroke; }
.map-point circle { fill: var(--accent); stroke: var(--paper); stroke-width: 1.5; }
.map-point text { fill: var(--on-accent); font-size: 12px; font-weight: 700; text-anchor: middle; }
.map-point.map-other circle { fill: var(--paper); stroke: var(--edge); stroke-width: 2; }
.map-point.map-other text { fill: var(--ink); font-weight: 400; }
.map-point:hover circle, .map-point:focus-visible circle { stroke: var(--ink); stroke-width: 2.5; }
.map-ring { fill: none; stroke: var(--ink); stroke-width: 2.5; pointer-events: none; }
.map-place, .map-distance { fill: var(--soft); font-size: 13px; text-anchor: middle; }
.map-buttons > a { width: 36px; height: 36px; font-size: 20px; line-height: 1; }
.map-buttons .map-draw { font-size: 12px; }
.map-legend { position: absolute; left: 12px; bottom: 12px; margin: 0; display: flex; flex-wrap: wrap; gap: 0 16px; max-width: calc(100% - 190px); padding: 4px 10px; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; font-size: 13px; }
.map-key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 50%; background: var(--accent); }
.map-key.map-other::before { width: 6px; height: 6px; background: var(--paper); border: 2px solid var(--edge); }
.map-card { right: 8px; bottom: 42px; width: 248px; padding: 8px 12px; }
.map-card p { margin: 4px 0; color: var(--soft); }
.map-card p > * { display: block; }
.map-card strong { font-size: 14px; padding-right: 20px; color: var(--ink); }
.map-card .map-close { position: absolute; top: 4px; right: 4px; width: 24px; text-align: center; text-decoration: none; font-size: 18px; }
.map-buttons a, .map-card, .chart-value { background: var(--paper); color: var(--ink); border: 1px solid var(--edge); border-radius: 6px; }
.map-card, .chart-value { position: absolute; box-shadow: 0 4px 16px #0003; font-size: 13px; }
.map-buttons { position: absolute; inset: 12px; display: grid; gap: 4px; align-content: start; justify-content: end; pointer-events: none; }
.map-buttons a { display: grid; place-items: center; text-decoration: none; pointer-events: auto; }
.map-buttons a[aria-disabled] { opacity: .5; }
.map-moves a { position: absolute; width: 28px; height: 24px; font-size: 10px; color: var(--soft); border-color: var(--line); opacity: .8; }
.map-moves :nth-child(-n + 2) { left: calc(62% - 14px); top: -8px; }
.map-moves :nth-child(n + 3) { top: calc(66% - 12px); left: -8px; }
.map-moves :nth-child(2) { top: auto; bottom: -8px; }
.map-moves :nth-child(4) { left: auto; right: -8px; }
.map.drawing { cursor: crosshair; touch-action: none; }
.map.drawing .map-points { pointer-events: none; }
.chart-links { display: flex; flex-wrap: wrap; }
.chart-links > * + *::before { content: "·"; display: inline-block; margin: 0 4px; }
.chart-links summary { display: inline; cursor: pointer; text-decoration: underline; color: var(--accent); }
.chart-card > .note { margin-top: 8px; }
.chart-card { display: flex; flex-direction: column; container-type: inline-size; }
.chart-legend { display: flex; flex-wrap: wrap; gap: 4px 20px; font-size: 13px; margin-bottom: 12px; }
.chart-legend li { display: flex; gap: 4px; min-width: 0; }
.chart-legend svg { flex: none; margin-top: 2px; }
.chart-legend svg, .chart marker { overflow: visible; }
.chart-legend li > span { color: var(--ink); }
.chart-legend span span, .title h2 span { color: var(--soft); font-weight: 400; }
.chart { position: relative; display: grid; grid-template-columns: 48px 1fr; padding-right: 8px; }
.chart svg, .bars { display: block; width: 100%; overflow: visible; }
.chart text, .bars text { font-size: 13px; fill: var(--soft); }
.chart-value { z-index: 1; max-width: 100%; padding: 2px 8px; pointer-events: none; }
.chart-axis text { text-anchor: end; }
.chart-times text, .bars .bars-year { text-anchor: middle; }
.chart-grid line, .bars .bars-top { stroke: var(--line); }
.chart-times line, .bars line { stroke: var(--edge); }
.chart marker path { fill: currentColor; }
.chart marker :is(.chart-left, .chart-right) { fill: var(--paper); stroke: currentColor; stroke-width: 1.4; }
${
  Array.from({ length: 8 }, (_, i) => `.chart-series-${i} { color: var(--series-${i}); }`).join(
    "\n",
  )
}
.tagline { color: var(--soft); }
.chart-dots { marker: none; stroke: currentColor; stroke-width: 4; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.chart-table { margin-top: 16px; }
.chart-table caption { text-align: left; font-weight: 600; padding: 4px 0; }
.measured .number, .chart-table :is(th, td):not(:first-child) { text-align: right; }
.bars rect { fill: var(--accent); }
.table-card { padding: 0; container-type: inline-size; }
.table-card .title { padding: 16px 16px 0; }
.table-wide { overflow-x: auto; }
.measurements :is(th, td) { vertical-align: baseline; overflow-wrap: break-word; }
.measurements :is(th, td):first-child { padding-left: 16px; white-space: nowrap; }
.measurements :is(th, td):last-child { padding-right: 16px; }
.measurements tbody tr:last-child td { border-bottom: 0; }
.measurements td.value { font-weight: 700; }
.measurements .value { text-align: right; white-space: pre; padding-right: 0; }
.measurements td.no-value { font-weight: 400; color: var(--soft); padding-right: 8px; white-space: normal; }
.measurements .details { display: none; }
.measurements .unit { color: var(--soft); white-space: nowrap; }
.table-card .note { padding: 12px 16px; border-top: 1px solid var(--line); }
@container (max-width: 480px) {
  .map-wide, .chart-times text:nth-of-type(even) { display: none; }
  .map-narrow { display: inline; }
  .chart marker path { transform: scale(.75); }
  .chart .chart-dots { stroke-width: 3; }
  .chart-legend { order: 2; flex-direction: column; margin: 12px 0 0; }
  .chart-card > :is(.note, .chart-table) { order: 3; }
  .table .measurements, .table .measurements tbody { display: block; }
  .table .measurements thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .table .measurements tr { display: grid; grid-template-columns: 1fr auto auto; align-items: center; gap: 0 6px; padding: 12px 16px; border-bottom: 1px solid var(--line); font-size: 13px; color: var(--soft); }
  .table .measurements td { display: block; padding: 0; border: 0; white-space: normal; }
  .table .measurements :is(.characteristic, .detail) { display: none; }
  .table .measurements td:is(.date, .location) { grid-area: 1 / 1; padding: 0; }
  .table .measurements td.location { grid-row: 2; }
  .table .measurements .location { font-size: 14px; font-weight: 600; color: var(--ink); }
  .table .measurements .details { display: block; font-size: 13px; font-weight: 400; color: var(--soft); }
  .table .measurements td:is(.value, .unit) { grid-area: 1 / 3 / 3; font-size: 16px; }
  .table .measurements td.value { grid-column: 2; color: var(--ink); white-space: pre; }
  .table .measurements td.no-value { grid-column: 2 / 4; color: var(--soft); white-space: normal; }
}
@media (max-width: 1000px) and (min-width: 768px) {
  .query .row { grid-template-columns: 1fr 1fr; }
}
@media (max-width: 767px) {
  h1 { font-size: 24px; }
  .tagline, .wide { display: none; }
  .narrow { display: inline; }
  footer .narrow { display: flex; flex-wrap: wrap; gap: 16px; margin-top: 16px; }
  .top, .synthetic, .query, .fold, #results, footer { padding-inline: 16px; }
  .top nav { gap: 16px; }
  .query .row, .more .row { grid-template-columns: 1fr; gap: 12px; }
  .box { grid-template-columns: 1fr 1fr; gap: 12px; }
  .credential { grid-template-columns: 1fr; gap: 4px; }
  .folded .fold { display: flex; justify-content: space-between; align-items: center; gap: 16px; font-size: 14px; }
  .folded .query:not(:target):not(.open) { display: none; }
  .folded:has(.query:target) .fold, .folded:has(.query.open) .fold { display: none; }
  .columns { display: flex; flex-direction: column; gap: 16px; align-items: stretch; }
  .lead, .rail { display: contents; }
  .columns > * > * { order: 3; }
  .columns :is(.lead > .map, .chart-card, .number) { order: 1; }
  .columns .take { order: 2; }
  .columns .rail > .map { order: 4; }
  .columns :is(.code, .cite) { order: 5; }
  .columns:has(.abstract) > * > :is(*, .chart-card) { order: 0; }
  .download-bar:not([hidden]) { display: flex; }
  .copy-link { margin-top: 8px; }
}
@media print {
  .map { max-width: 160mm; }
  .map-buttons, .map-card, .chart-links { display: none; }
  .chart-card, .bars, .measurements tr { break-inside: avoid; }
  .top nav, .query, .fold, .take, .download-bar, .copy-link, .skip, .copy { display: none !important; }
  .columns { display: block; }
  .card, .map { break-inside: avoid; margin-bottom: 16px; }
  .tabs label { display: none; }
}
`;

export const ICON =
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="11" fill="#0b5c73"/><path d="M6 17h17c5 0 5 14 10 14h9" fill="none" stroke="#9fe0f2" stroke-width="4" stroke-linecap="round"/><path d="M6 25h11c6 0 5 14 12 14h13" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>`;
