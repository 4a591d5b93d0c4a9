// SPDX-License-Identifier: MIT
#include "output/flame_script.h"

namespace offcpu::output {

std::string_view FlameStyle() {
  return R"(
.offcpu text{font:12px monospace;fill:#222;white-space:pre}
.offcpu .head text,.offcpu .notes text{font-family:system-ui,sans-serif;fill:#555}
.offcpu .head .title{font-size:17px;font-weight:600;fill:#111}
.offcpu .head .details,.offcpu .head .matched{font-family:monospace;fill:#111}
.offcpu .matched{text-anchor:end}
.offcpu .empty{font:15px system-ui,sans-serif;fill:#555}
.offcpu .frames g{cursor:pointer}
.offcpu .frames text{pointer-events:none}
.offcpu .frames g:hover path{stroke:#222;stroke-width:1}
.offcpu .frames .up{opacity:.6}
.offcpu .frames .hit path{fill:#a3195b}
.offcpu .frames .hit text{fill:#fff}
.offcpu form{display:flex;gap:6px;justify-content:flex-end;margin:1px}
.offcpu input{width:190px;font:12px monospace;padding:3px 6px;border:1px solid #999;border-radius:3px}
.offcpu input.bad{border-color:#c00;background:#fee}
.offcpu button{font:12px system-ui,sans-serif;padding:3px 8px;border:1px solid #999;border-radius:3px;background:#f4f4f4;cursor:pointer}
.offcpu button:disabled{color:#aaa;border-color:#ccc;cursor:default}
)";
}

std::string_view FlameScript() {
  return R"(
const svg = document.currentScript.parentNode, SVG = svg.namespaceURI;
const HTML = 'http://www.w3.org/1999/xhtml', MARGIN = 10, CONTROLS = 290;
const part = name => svg.querySelector('.' + name);
const boxes = Array.from(part('frames').children);
const tips = boxes.map(g => g.firstChild.textContent);
const names = tips.map(tip => tip.slice(0, tip.indexOf('\n')));
const labels = names.map(name => name.replace(/_\[k\]$/, ''));
const tops = boxes.map(g => Number(g.childNodes[1].getAttribute('d').split(/[ h]/)[1]));
const level = i => D[3 * i];
const starts = [], times = [];
const positions = new Map(boxes.map((g, i) => [g, i]));
const parents = [];  // of each frame
const ends = [];     // a frame and all that it called are the boxes [i, ends[i])
const hits = new Set();
let zoomed = 0, width = 0, cell = 7.22, pattern = '', field, reset, controls;

const share = (a, b) => (b ? 100 * a / b : 0).toFixed(1) + ' %';
function human(ns) {
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]].find(u => ns >= u[1]) || ['ns', 1];
  if (size === 1) return ns + ' ns';
  const amount = ns / size;
  return (amount >= 100 ? Math.round(amount) : amount.toPrecision(3)) + ' ' + unit;
}
function make(space, name, parent) {
  return parent.appendChild(document.createElementNS(space, name));
}
function below(i) {
  const path = [];
  while (i > 0) path.push(i = parents[i]);
  return path;
}
function clip(text, room) {
  if (room < 3) return '';
  let used = 0, kept = '';
  for (const c of text) {
    used += c.codePointAt(0) < 0x1100 ? 1 : 2;
    if (used > room) return kept + '..';
    if (used + 2 <= room) kept += c;
  }
  return text;
}
function place(i, x, w) {
  const [, shape, text] = boxes[i].childNodes, wide = (w > 2 ? w - 0.5 : w).toFixed(2);
  const label = clip(labels[i], Math.floor((w - 6) / cell));
  shape.setAttribute('d', `M${x.toFixed(2)} ${tops[i]}h${wide}v15h-${wide}z`);
  if (!text && !label) return;
  const shown = text || make(SVG, 'text', boxes[i]);
  if (!text) shown.setAttribute('y', tops[i] + 11.5);
  shown.setAttribute('x', (x + 3).toFixed(2));
  shown.textContent = label;
}
function draw() {
  const inner = width - 2 * MARGIN, scale = inner / times[zoomed], last = ends[zoomed];
  const path = new Set(below(zoomed));
  boxes.forEach((g, i) => {
    const inside = i >= zoomed && i < last;
    if (!inside && !path.has(i)) return g.setAttribute('display', 'none');
    g.removeAttribute('display');
    if (inside) place(i, MARGIN + (starts[i] - starts[zoomed]) * scale, times[i] * scale);
    else place(i, MARGIN, inner);
    g.setAttribute('class', (inside ? '' : 'up ') + (hits.has(i) ? 'hit' : ''));
  });
  reset.disabled = zoomed === 0 && pattern === '';
  showMatched();
}
// Time of the zoomed frame that matches lie over, each nanosecond once.
function matchedTime() {
  if (below(zoomed).some(i => hits.has(i))) return times[zoomed];
  let sum = 0;
  for (let i = zoomed; i < ends[zoomed];) {
    if (hits.has(i)) sum += times[i];
    i = hits.has(i) ? ends[i] : i + 1;
  }
  return sum;
}
function showMatched() {
  const sum = pattern === '' ? 0 : matchedTime();
  part('matched').textContent = pattern === '' ? '' : field.className ? 'not a regular expression'
    : 'matched: ' + share(sum, times[zoomed]) + (zoomed ? ' of the zoomed frame, ' : ', ') + human(sum);
}
// A pattern without capitals matches both cases.
function search(text) {
  pattern = text;
  hits.clear();
  field.className = '';
  if (text !== '') {
    try {
      const letters = text.replace(/\\./g, '');
      const expression = new RegExp(text, letters === letters.toLowerCase() ? 'i' : '');
      names.forEach((name, i) => { if (expression.test(name)) hits.add(i); });
    } catch (error) {
      field.className = 'bad';
    }
  }
  draw();
}
function zoom(i) {
  zoomed = i;
  draw();
}
function resetAll() {
  field.value = '';
  zoomed = 0;
  search('');
}
function boxOf(event) {
  const g = event.target.closest('.frames > g');
  return g ? positions.get(g) : -1;
}
function hover(i) {
  let tip = tips[i];
  if (zoomed && i >= zoomed) tip += '\n' + share(times[i], times[zoomed]) + ' of the zoomed frame';
  boxes[i].firstChild.textContent = tip;
  part('details').textContent = clip(tip.split('\n').join('  |  '), Math.floor((width - 2 * MARGIN) / cell));
}
function resize() {
  const page = document.documentElement, height = Number(svg.getAttribute('height'));
  const room = page === svg ? innerWidth - (height > innerHeight ? 16 : 0) : page.clientWidth;
  width = Math.max(500, room);
  svg.setAttribute('width', width);
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  controls.setAttribute('x', width - MARGIN - CONTROLS);
  part('matched').setAttribute('x', width - MARGIN);
  draw();
}
function addControls() {
  controls = make(SVG, 'foreignObject', svg);
  Object.entries({y: 6, width: CONTROLS, height: 30}).forEach(([key, value]) => controls.setAttribute(key, value));
  const form = make(HTML, 'form', controls);
  field = make(HTML, 'input', form);
  field.setAttribute('placeholder', 'Search: regular expression');
  field.setAttribute('aria-label', 'Search frames by regular expression');
  field.setAttribute('spellcheck', 'false');
  reset = make(HTML, 'button', form);
  reset.setAttribute('type', 'button');
  reset.textContent = 'Reset';
  form.addEventListener('submit', event => event.preventDefault());
  field.addEventListener('input', () => search(field.value));
  reset.addEventListener('click', resetAll);
}
function measureCell() {
  const probe = make(SVG, 'text', part('frames'));
  probe.textContent = 'm'.repeat(20);
  cell = probe.getComputedTextLength() / 20 || cell;
  probe.remove();
}

if (boxes.length === 0) return;
const newest = [];  // by level
boxes.forEach((g, i) => {
  const parent = parents[i] = level(i) ? newest[level(i) - 1] : 0;
  starts[i] = (starts[parent] || 0) + D[3 * i + 1];
  times[i] = D[3 * i + 2] || times[parent];
  newest[level(i)] = i;
});
for (let i = boxes.length - 1; i >= 0; i--) {
  ends[i] = i + 1;
  while (ends[i] < boxes.length && level(ends[i]) > level(i)) ends[i] = ends[ends[i]];
}
part('frames').addEventListener('click', event => { if (boxOf(event) >= 0) zoom(boxOf(event)); });
part('frames').addEventListener('mouseover', event => { if (boxOf(event) >= 0) hover(boxOf(event)); });
part('frames').addEventListener('mouseout', () => { part('details').textContent = ''; });
addEventListener('keydown', event => {
  if (event.key === 'Escape') resetAll();
  if (event.key === 'f' && (event.ctrlKey || event.metaKey) && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
    field.select();
  }
});
addEventListener('resize', resize);
addControls();
measureCell();
resize();
)";
}

}  // namespace offcpu::output
