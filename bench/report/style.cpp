// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/style.h"

namespace tare::bench {

const char* const kReportStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f6f3; --card: #ffffff; --ink: #1d1f22; --soft: #5c6168; --rule: #dcdcd6; --grid: #ecece7;
  --s0: #0068a8; --s1: #c84f00; --s2: #00805c; --s3: #9c3d8f; --s4: #8a6500; --s5: #45494f; --s6: #2f8fc4;
  --s7: #8f1d4f;
  --c0: #4a6f96; --c1: #86a8c9; --c2: #a9bfd4; --c3: #3f9080; --c4: #d2631c; --c5: #d9a93a; --c6: #b4b4a8;
  --c7: #8b8b82; --c8: #9c3d8f; --c9: #5d5d57;
  --inside: #ffffff; --peer: #9aa0a8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15171a; --card: #1d2024; --ink: #e9e9e4; --soft: #a2a7ae; --rule: #363a40; --grid: #2a2e33;
    --s0: #5eb1ea; --s1: #f58a4b; --s2: #35c79b; --s3: #dd8fce; --s4: #ddb63f; --s5: #c6c9ce; --s6: #9fd8fa;
    --s7: #e97fa9;
    --c0: #6d97c4; --c1: #4f7299; --c2: #3d5671; --c3: #4fae9b; --c4: #f08a45; --c5: #e3bb54; --c6: #77776e;
    --c7: #5b5b54; --c8: #c770b8; --c9: #93938a;
    --inside: #10120f; --peer: #737a83;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  -webkit-text-size-adjust: 100%;
}
main { max-width: 1120px; margin: 0 auto; padding: 36px 20px 60px; }
h1 { font-size: 30px; line-height: 1.15; letter-spacing: -0.01em; margin: 0 0 8px; font-weight: 650; }
h2 { font-size: 19px; line-height: 1.25; margin: 44px 0 4px; font-weight: 650; }
h3 { font-size: 15px; margin: 0 0 2px; font-weight: 600; }
p { margin: 4px 0 12px; max-width: 74ch; }
.soft, figcaption { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 14px; margin: 22px 0 6px; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 16px 14px; }
.tile .what { color: var(--soft); font-size: 13px; }
.tile .figure { font-size: 22px; line-height: 1.25; font-weight: 620; font-variant-numeric: tabular-nums; }
.tile .who { font-size: 13px; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 16px; }
figure {
  margin: 12px 0 0; background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
  padding: 14px 16px 10px; min-width: 0; break-inside: avoid;
}
.alone { max-width: 640px; }
figcaption { font-size: 13px; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; margin-top: 4px; font-size: 12px; overflow: visible; }
svg text { fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
svg .name { fill: var(--soft); font-size: 11.5px; }
svg .mid { text-anchor: middle; }
svg .end { text-anchor: end; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
svg .lead { fill: none; stroke: currentColor; stroke-width: 1; opacity: 0.6; }
svg .spread { stroke: currentColor; stroke-width: 1.5; opacity: 0.55; }
svg .mark { fill: var(--card); stroke: currentColor; stroke-width: 1.6; }
svg .filled { fill: currentColor; }
svg .direct { fill: currentColor; font-weight: 600; font-size: 11.5px; }
svg .bar { fill: currentColor; }
svg .bar-name { font-size: 12px; }
svg .value { font-size: 12px; font-weight: 600; font-variant-numeric: tabular-nums; }
svg .inside { fill: var(--inside); font-size: 11px; }
svg .limit { stroke: var(--ink); stroke-width: 2.2; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); } .s3 { color: var(--s3); }
.s4 { color: var(--s4); } .s5 { color: var(--s5); } .s6 { color: var(--s6); } .s7 { color: var(--s7); }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.c8 { color: var(--c8); } .c9 { color: var(--c9); } .peer { color: var(--peer); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 6px 0 2px; padding: 0; list-style: none; font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 6px; overflow-wrap: anywhere; }
.legend .swatch { width: 12px; height: 12px; border-radius: 3px; background: currentColor; flex: none; }
.legend .limit { width: 3px; height: 14px; background: var(--ink); flex: none; }
.scroll { overflow-x: auto; margin-top: 18px; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; min-width: 100%; }
th, td { padding: 5px 0 5px 14px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
thead th { white-space: normal; min-width: 62px; line-height: 1.3; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tbody th { color: var(--ink); font-weight: 500; }
details { margin-top: 12px; }
summary { cursor: pointer; color: var(--soft); font-size: 13px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; font-size: 13px; margin: 10px 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
@media (max-width: 560px) {
  main { padding: 22px 12px 40px; }
  h1 { font-size: 24px; }
  figure { padding: 12px 10px 8px; }
  .tile .figure { font-size: 19px; }
  svg .tick, svg .name { font-size: 12.5px; }
}
@media print {
  :root {
    --page: #ffffff; --card: #ffffff; --ink: #000000; --soft: #444444; --rule: #cccccc; --grid: #e8e8e8;
    --s0: #0068a8; --s1: #c84f00; --s2: #00805c; --s3: #9c3d8f; --s4: #8a6500; --s5: #45494f; --s6: #2f8fc4;
    --s7: #8f1d4f;
    --c0: #4a6f96; --c1: #86a8c9; --c2: #a9bfd4; --c3: #3f9080; --c4: #d2631c; --c5: #d9a93a; --c6: #b4b4a8;
    --c7: #8b8b82; --c8: #9c3d8f; --c9: #5d5d57;
    --inside: #ffffff; --peer: #9aa0a8;
  }
  body { font-size: 11px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  .pair { grid-template-columns: 1fr 1fr; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  h1 { font-size: 22px; }
  h2 { font-size: 15px; margin-top: 26px; }
  h3 { font-size: 12px; }
  .tile .figure { font-size: 16px; }
  .legend, figcaption, summary, dl, .tile .what, .tile .who { font-size: 10px; }
  .tile, figure, tr { break-inside: avoid; }
  h2, h2 + p { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 9px; }
  th, td { padding: 2px 0 2px 8px; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
}
)css";

}  // namespace tare::bench
