/** A string, because each runtime has its own way to read a file of a module. */
export const STYLE = `:root {
  color-scheme: light dark;
  --paper: #f6f9fa;
  --card: #ffffff;
  --ink: #10262e;
  --soft: #47606a;
  --line: #c6d5da;
  --water: #0b5c73;
  --water-ink: #ffffff;
  --wash: #e4f0f3;
  --alert: #8f1d14;
  --alert-wash: #fdecea;
  --notice-wash: #fff4d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0c171b;
    --card: #132329;
    --ink: #e6f0f2;
    --soft: #a5bcc4;
    --line: #33505a;
    --water: #7fd0e6;
    --water-ink: #06222b;
    --wash: #1a323b;
    --alert: #ffb4ab;
    --alert-wash: #3c1512;
    --notice-wash: #3a2f10;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0;
  background: var(--paper);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--water); }
:focus-visible { outline: 3px solid var(--water); outline-offset: 2px; border-radius: 4px; }
#results:focus, #results-heading:focus { outline: none; }
#results-heading { scroll-margin-top: 1.5rem; }
#results > [inert] { opacity: .5; user-select: none; pointer-events: none; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem 1rem; z-index: 1; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
header { background: var(--card); border-bottom: 1px solid var(--line); }
header > div, main, footer { max-width: 68rem; margin: 0 auto; padding: 1rem 1.25rem; }
header > div { display: flex; gap: .9rem; align-items: center; }
header p { margin: 0; color: var(--soft); }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 0 0 .5rem; font-size: 1.6rem; letter-spacing: -.01em; }
h3 { margin: 1.75rem 0 .5rem; font-size: 1.05rem; }
small { color: var(--soft); font-size: .85em; font-weight: 400; }
form, #results:has(*) {
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 12px;
  padding: 1.25rem;
  margin: 1rem 0;
}
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
legend, summary { font-weight: 600; padding: 0; margin-bottom: .4rem; }
label { display: block; }
.columns label { margin-bottom: .6rem; color: var(--soft); font-size: .9rem; }
input:not([type=checkbox], [type=radio]), select {
  display: block;
  width: 100%;
  min-height: 2.75rem;
  padding: .45rem .7rem;
  border: 1px solid var(--soft);
  border-radius: 8px;
  background: var(--paper);
  color: var(--ink);
  font: inherit;
  font-size: 1rem;
}
::placeholder { color: var(--soft); opacity: 1; }
.choices { display: flex; flex-wrap: wrap; gap: .5rem; }
.choices legend { float: left; width: 100%; margin: 0; }
.choices .choice { flex: auto; border: 1px solid var(--line); border-radius: 8px; padding: .5rem .7rem; }
.choices .choice:has(:checked) { border-color: var(--water); background: var(--wash); }
.choice { display: flex; gap: .6rem; align-items: flex-start; cursor: pointer; padding: .2rem 0; }
.choice input { flex: none; width: 1.15rem; height: 1.15rem; margin: .2rem 0 0; accent-color: var(--water); }
.choice small { display: block; overflow-wrap: anywhere; }
.chooser, .credential, .choices { margin-bottom: 1.25rem; }
.credential { max-width: 28rem; }
summary { cursor: pointer; margin: 0; padding: .35rem 0; }
summary small { margin-left: .4rem; }
.list { max-height: 16rem; overflow: auto; border: 1px solid var(--line); border-radius: 8px; padding: .5rem .8rem; margin-top: .5rem; }
.list[data-fields] { columns: 16rem; column-gap: 1.5rem; }
.list[data-fields] .choice { break-inside: avoid; overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1rem 1.5rem; margin: 1.25rem 0 .5rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 .75rem; }
.submit { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; margin: 1rem 0 0; }
#form-status { margin: 0; }
html:has(#form-status:not(:empty)) { scroll-padding-bottom: 5rem; }
#form-status:not(:empty) {
  position: sticky;
  bottom: .5rem;
  margin-top: 1rem;
  padding: .6rem .9rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--notice-wash);
  font-weight: 600;
}
.inline { display: flex; gap: .5rem; align-items: center; white-space: nowrap; }
button, .button {
  display: inline-block;
  min-height: 2.75rem;
  padding: .55rem 1.3rem;
  border: 0;
  border-radius: 8px;
  background: var(--water);
  color: var(--water-ink);
  font: inherit;
  font-weight: 600;
  text-decoration: none;
  cursor: pointer;
}
button:hover, .button:hover { filter: brightness(1.12); }
button[aria-busy=true] { opacity: .85; cursor: progress; }
.buttons { display: flex; flex-wrap: wrap; gap: .6rem; margin: .75rem 0 0; }
.buttons .button ~ .button { background: var(--wash); color: var(--ink); }
.buttons button.button:disabled { background: none; border: 1px dashed var(--soft); color: var(--soft); font-weight: 400; cursor: not-allowed; filter: none; }
.copy { min-height: 0; padding: .3rem .7rem; background: var(--card); color: var(--water); border: 1px solid var(--line); font-size: .85rem; }
.table { overflow: auto; max-height: 26rem; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { padding: .35rem .7rem; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: var(--wash); font-weight: 600; }
.number, .value { text-align: right; font-variant-numeric: tabular-nums; }
td.value { font-weight: 600; }
tbody tr:last-child td { border-bottom: 0; }
.snippets dt { font-weight: 600; margin-top: .8rem; }
.snippets dd { margin: .25rem 0 0; display: flex; gap: .5rem; align-items: flex-start; }
.snippets code {
  flex: 1;
  min-width: 0;
  overflow-x: auto;
  white-space: pre;
  padding: .5rem .7rem;
  border-radius: 8px;
  background: var(--wash);
  font: .85rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
.citations { padding-left: 1.1rem; }
.citations li { margin-bottom: .7rem; overflow-wrap: anywhere; }
.citations span { display: block; color: var(--soft); font-size: .9rem; }
.alert, .notice { border-radius: 8px; padding: .7rem 1rem; margin: 0 0 1rem; }
.alert { background: var(--alert-wash); color: var(--alert); margin: 0; }
.notice { background: var(--notice-wash); }
footer { color: var(--soft); font-size: .9rem; }
.phone { display: none; }
.reasons { padding: .7rem 1rem; border-radius: 8px; background: var(--notice-wash); font-weight: 600; overflow-wrap: anywhere; }
.reasons p { margin: 0; }
@media (max-width: 30rem) {
  header > div, main, footer { padding: 1rem; }
  form, #results:has(*) { padding: 1rem; }
  .phone { display: block; margin: 0 0 .5rem; color: var(--soft); font-size: .9rem; }
  .compact { width: 100%; }
  .compact thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .compact tr { display: grid; grid-template-columns: 1fr auto; padding: .5rem .7rem; border-bottom: 1px solid var(--line); }
  .compact td { display: none; padding: 0; border: 0; white-space: normal; overflow-wrap: anywhere; }
  .compact :is(.date, .location, .characteristic, .value) { display: block; }
  .compact .date { color: var(--soft); }
  .compact .value { grid-area: 1 / 2; padding-left: .7rem; }
  .compact :is(.location, .characteristic) { grid-column: 1 / -1; }
  .compact tr:last-child { border-bottom: 0; }
  .snippets dd { flex-direction: column; }
  .snippets code { width: 100%; }
}
`;

export const ICON =
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="11" fill="#0b5c73"/><path d="M6 17h17c5 0 5 14 10 14h9" fill="none" stroke="#9fe0f2" stroke-width="4" stroke-linecap="round"/><path d="M6 25h11c6 0 5 14 12 14h13" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>`;
