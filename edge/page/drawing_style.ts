/** Rules of the map, the chart, the bars and the table. The colours are the tokens of the page. */
export const DRAWING_STYLE = `
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
.map-points { position: absolute; inset: 0; width: 100%; height: 100%; }
.map-narrow { display: none; }
.map-place { fill: var(--soft); }
.map-label { fill: var(--soft); font-size: 12px; stroke: var(--land); stroke-width: 3; stroke-opacity: .8; stroke-linejoin: round; paint-order: stroke; }
.map-point circle { fill: var(--accent); stroke: var(--paper); stroke-width: 1.5; }
.map-point text { fill: var(--on-accent); font-size: 12px; font-weight: 700; text-anchor: middle; }
.map-point.map-other circle { fill: var(--paper); stroke: var(--edge); stroke-width: 2; }
.map-point.map-other text { fill: var(--ink); font-weight: 400; }
.map-point:hover circle, .map-point:focus-visible circle { stroke: var(--ink); stroke-width: 2.5; }
.map-ring { fill: none; stroke: var(--ink); stroke-width: 2.5; pointer-events: none; }
.map-handles rect { fill: var(--paper); stroke: var(--accent); stroke-width: 2; }
.map-scale line { stroke: var(--soft); stroke-width: 1.5; }
.map-scale rect { width: 1px; height: 6px; fill: var(--soft); transform: translateY(-5px); }
.map-scale text { fill: var(--soft); font-size: 13px; }
.map-buttons a { display: grid; place-items: center; background: var(--paper); color: var(--ink); border: 1px solid var(--edge); border-radius: 6px; text-decoration: none; }
.map-buttons a[aria-disabled] { opacity: .5; }
.map-buttons > a { width: 36px; height: 36px; font-size: 20px; line-height: 1; }
.map-buttons .map-draw { font-size: 12px; }
.map-legend { position: absolute; left: 12px; bottom: 12px; margin: 0; display: flex; flex-wrap: wrap; gap: 0 16px; max-width: calc(100% - 150px); padding: 4px 10px; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; font-size: 13px; }
.map-key::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 50%; background: var(--accent); }
.map-key.map-other::before { width: 6px; height: 6px; background: var(--paper); border: 2px solid var(--edge); }
.map-card { position: absolute; right: 8px; bottom: 42px; width: 248px; padding: 8px 12px; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px; box-shadow: 0 4px 16px #0003; font-size: 13px; }
.map-card p { margin: 4px 0; }
.map-card p > * { display: block; }
.map-card strong { font-size: 14px; padding-right: 20px; }
.map-card span { color: var(--soft); }
.map-card a { font-size: 14px; }
.map-card .map-close { position: absolute; top: 4px; right: 4px; width: 24px; text-align: center; text-decoration: none; font-size: 18px; }
.map-buttons { position: absolute; inset: 12px; display: grid; gap: 4px; align-content: start; justify-content: end; pointer-events: none; }
.map-buttons a { pointer-events: auto; }
.map-moves a { position: absolute; width: 28px; height: 24px; font-size: 10px; color: var(--soft); border-color: var(--line); opacity: .8; }
.map-moves :nth-child(-n + 2) { left: calc(50% - 14px); top: -8px; }
.map-moves :nth-child(n + 3) { top: calc(66% - 12px); left: -8px; }
.map-moves :nth-child(2) { top: auto; bottom: -8px; }
.map-moves :nth-child(4) { left: auto; right: -8px; }
.map.drawing { cursor: crosshair; touch-action: none; }
.map.drawing .map-points { pointer-events: none; }
.map-drawn { position: absolute; border: 2px dashed var(--accent); background: color-mix(in srgb, var(--accent) 10%, transparent); }
@container (max-width: 480px) {
  .map-wide { display: none; }
  .map-narrow { display: inline; }
}
.title h2 span { font-weight: 400; color: var(--soft); }
.chart-links { font-size: 13px; color: var(--soft); }
.chart-links details { display: inline; }
.chart-links details ul { margin-top: 8px; }
.chart-links summary { display: inline; cursor: pointer; text-decoration: underline; margin-left: 8px; color: var(--accent); }
.chart-card { display: flex; flex-direction: column; container-type: inline-size; }
.chart-shapes { position: absolute; width: 0; height: 0; }
.chart-legend { display: flex; flex-wrap: wrap; gap: 4px 20px; font-size: 13px; margin-bottom: 12px; }
.chart-legend li { display: flex; gap: 4px; align-items: center; min-width: 0; }
.chart-legend svg { flex: none; overflow: visible; }
.chart-legend li > span { color: var(--ink); }
.chart-legend span span { color: var(--soft); }
.chart { position: relative; display: grid; grid-template-columns: 48px 1fr; padding-right: 8px; }
.chart svg { display: block; width: 100%; overflow: visible; }
.chart text, .bars text { font-size: 13px; fill: var(--soft); }
.chart-value { position: absolute; z-index: 1; max-width: 100%; padding: 2px 8px; background: var(--paper); border: 1px solid var(--edge); border-radius: 6px; font-size: 13px; pointer-events: none; box-shadow: 0 4px 16px #0003; }
.chart-axis text { text-anchor: end; }
.chart-times text, .bars .bars-year { text-anchor: middle; }
.chart-grid line, .bars .bars-top { stroke: var(--line); }
.chart-times line, .bars line { stroke: var(--edge); }
.chart-narrow { display: none; }
.chart-limit { fill: var(--paper); stroke: currentColor; stroke-width: 1.4; }
${
  Array.from({ length: 7 }, (_, i) => `.chart-series-${i} { color: var(--series-${i}); }`).join(
    "\n",
  )
}
.chart-limits { color: var(--soft); }
.chart-legend svg, .chart-plot g { fill: currentColor; }
.chart-dots { stroke: currentColor; stroke-width: 4; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.chart-table:not(:target) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.chart-table { margin-top: 16px; font-size: 14px; }
.chart-table table, .measurements { border-collapse: collapse; width: 100%; }
.chart-table caption { text-align: left; font-weight: 600; padding: 4px 0; }
.chart-table :is(th, td) { text-align: right; padding: 6px 8px; border-bottom: 1px solid var(--line); }
.chart-table :is(th):first-child { text-align: left; }
.chart-table thead th, .measurements thead th { font-size: 13px; color: var(--soft); background: var(--panel); }
.bars { display: block; width: 100%; overflow: visible; }
.bars rect { fill: var(--accent); }
.table-card { padding: 0; container-type: inline-size; }
.table-card .title { padding: 16px 16px 0; }
.table-card .note { padding: 12px 16px; }
.table-wide { overflow-x: auto; }
.measurements { font-size: 14px; }
.measurements :is(th, td) { text-align: left; padding: 8px 8px; border-bottom: 1px solid var(--line); vertical-align: baseline; overflow-wrap: break-word; }
.measurements :is(th, td):first-child { padding-left: 16px; white-space: nowrap; }
.measurements :is(th, td):last-child { padding-right: 16px; }
.measurements tbody tr:last-child td { border-bottom: 0; }
.measurements td.value { font-weight: 700; }
.measurements .value { text-align: right; white-space: pre; padding-right: 0; }
.measurements td.no-value { font-weight: 400; color: var(--soft); padding-right: 8px; white-space: normal; }
.measurements .details { display: none; }
.measurements .unit { color: var(--soft); white-space: nowrap; }
.table-card .note { border-top: 1px solid var(--line); }
@container (max-width: 480px) {
  .chart-wide { display: none; }
  .chart-narrow { display: inline; }
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
@media print {
  .map { max-width: 160mm; }
  .map-buttons, .map-card, .chart-links { display: none; }
  .chart-card, .bars, .measurements tr { break-inside: avoid; }
}
`;
