/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The data of a page, units for people, elements and charts: text enters the page as text alone. */
"use strict";
const page = JSON.parse(document.getElementById("data").textContent);

function figures3(v) {
  if (v >= 100) return Math.round(v).toLocaleString("en-US");
  return v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toPrecision(3).replace(/\.?0+$/, "");
}

function scaled(v, units, step) {
  let i = 0;
  while (i + 1 < units.length && v >= step * 0.9995) v /= step, ++i;
  return (i === 0 ? String(Math.round(v)) : figures3(v)) + (units[i] && " " + units[i]);
}

const bytes = (n) => scaled(n, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const grouped = (n) => n.toLocaleString("en-US");
const count = (n) => (n < 10000 ? grouped(Math.round(n)) : scaled(n, ["", "k", "M", "G"], 1000));
/* counted(1, "site"), counted(3, "batch", "batches"): 1 site, 3 batches */
const counted = (n, one, many = one + "s") => count(n) + " " + (Math.round(n) === 1 ? one : many);

function time(ns) {
  if (ns === 0) return "0";
  if (ns < 60e9) return scaled(ns, ["ns", "µs", "ms", "s"], 1000);
  const minutes = Math.floor(ns / 60e9);
  return minutes < 60 ? minutes + " min " + Math.floor((ns % 60e9) / 1e9) + " s"
    : Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

function percent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  if (share === 0) return "0 %";
  return share < 0.1 ? "< 0.1 %" : (share < 9.95 ? share.toFixed(1) : share.toFixed(0)) + " %";
}

/* make("div", {class: "a"}, "text", child): an element; svg("rect", …): one of a drawing. */
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const byId = (id) => document.getElementById(id);
const digit = (c) => parseInt(c, 36);

/* A small hint beside the pointer. `show` of a row: [text, value] or a text. */
const hint = (() => {
  const box = make("div", { id: "hint", role: "status" });
  document.body.append(box);
  return {
    show(event, rows) {
      box.replaceChildren(...rows.map((row) => Array.isArray(row)
        ? make("div", { class: "hint-row" }, make("span", {}, row[0]), make("b", {}, row[1])) : make("div", {}, row)));
      box.style.display = "block";
      const wide = box.offsetWidth, high = box.offsetHeight;
      const x = Math.min(event.clientX + 14, innerWidth - wide - 8);
      const y = event.clientY + 18 + high > innerHeight ? event.clientY - high - 12 : event.clientY + 18;
      box.style.transform = "translate(" + Math.max(8, x) + "px," + Math.max(8, y) + "px)";
    },
    hide() { box.style.display = "none"; },
  };
})();

/* Marks of an axis: about `wanted` round values from 0 to `most`, in the given base. */
function marks(most, wanted, base) {
  if (!(most > 0)) return [0];
  const rough = most / wanted, power = Math.pow(base, Math.floor(Math.log(rough) / Math.log(base)));
  const factors = base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  const step = power * factors.find((f) => f * power >= rough * 0.999);
  const all = [];
  for (let i = 0; i * step <= most * 1.0001; ++i) all.push(i * step);
  return all;
}

/* A path of columns from digits: each digit is the height of a column of 36. */
function columns(digits, parts, width, height, gap) {
  const step = width / parts;
  let path = "";
  for (let i = 0; i < digits.length; ++i) {
    const high = Math.max(digit(digits[i]) ? 1 : 0, (digit(digits[i]) / 35) * height);
    if (high) path += `M${(i * step).toFixed(1)} ${height}v${(-high).toFixed(1)}h${(step - gap).toFixed(1)}V${height}z`;
  }
  return path;
}

/* From values to positions between two points, with round marks from 0 to one at or above `most`. */
function linear(most, from, to, base = 10, wanted = 5) {
  const step = marks(most, wanted, base)[1] || Math.max(most, 1);
  const parts = Math.max(1, Math.ceil(most / step - 1e-9));
  return { at: (v) => from + (v / (step * parts)) * (to - from), marks: Array.from({ length: parts + 1 }, (_, i) => i * step) };
}

/* The same, from the power of the base at or below `least` to the one at or above `most`. */
function logScale(least, most, from, to, base = 10) {
  const low = Math.floor(Math.log(least) / Math.log(base) + 1e-9), high = Math.max(low + 1, Math.ceil(Math.log(most) / Math.log(base) - 1e-9));
  const at = (v) => from + ((Math.log(Math.max(v, Math.pow(base, low))) / Math.log(base) - low) / (high - low)) * (to - from);
  const every = Math.ceil((high - low) / 7), all = [];
  for (let k = low; k <= high; k += every) all.push(Math.pow(base, k));
  return { at, marks: all };
}

/* A mark of an axis without zeros behind the point: 2.5 MiB. */
const short = (text) => text.replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");
const line = (x1, y1, x2, y2, style) => svg("line", { x1, y1, x2, y2, class: style });
const label = (x, y, text, anchor, style) => svg("text", { x, y, "text-anchor": anchor, class: style }, text);
/* The width of a drawing: less in a narrow window, so that its text stays readable. */
const fitting = (most) => Math.min(most, Math.max(440, innerWidth - 60));
const drawingOf = (width, height, title) => svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
const hinted = (shape, text) => (shape.append(svg("title", {}, text)), shape);
const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

/* Marks below a plot with lines up to `top`, and the name of the axis. */
function xAxis(drawing, x, top, bottom, middle, name, text) {
  for (const mark of x.marks)
    drawing.append(line(x.at(mark), top, x.at(mark), bottom, "grid"), label(x.at(mark), bottom + 16, short(text(mark)), "middle", "tick"));
  drawing.append(label(middle, bottom + 36, name, "middle", "axis"));
}
function yAxis(drawing, y, left, right, text) {
  for (const mark of y.marks)
    drawing.append(line(left, y.at(mark), right, y.at(mark), "grid"), label(left - 8, y.at(mark) + 4, short(text(mark)), "end", "tick"));
}

/* Horizontal bars of the medians with whiskers; a row is {name, style, median, min, max}. */
function barChart(title, axis, rows, { base = 10, text = figures3, names = 18 } = {}) {
  const width = fitting(920), left = (146 * names) / 18, right = width - 96, top = 10, bottom = top + 32 * rows.length + 4;
  const x = linear(Math.max(...rows.map((row) => row.max)), left, right, base), drawing = drawingOf(width, bottom + 44, title);
  xAxis(drawing, x, top, bottom, (left + right) / 2, axis, text);
  rows.forEach((row, i) => {
    const y = top + 32 * (i + 0.5) + 2, from = x.at(row.min), to = x.at(row.max), end = x.at(row.median);
    drawing.append(label(left - 10, y + 5, shortened(row.name, names), "end", row.style === "own" ? "name strong" : "name"),
      hinted(svg("rect", { x: left, y: y - 8, width: Math.max(end - left, 1), height: 16, class: row.style }),
        `${row.name}: median ${text(row.median)}, ${text(row.min)} to ${text(row.max)}`),
      line(from, y, to, y, "whisker"), line(from, y - 4, from, y + 4, "whisker"), line(to, y - 4, to, y + 4, "whisker"),
      label(Math.max(to, end) + 8, y + 5, text(row.median), "start", "value"));
  });
  drawing.append(line(left, top, left, bottom, "base-line"));
  return drawing;
}

/* A single number with its caption, [name, value, detail], for each row. */
const tiles = (rows) => make("div", { class: "tiles" }, ...rows.map(([name, value, detail]) =>
  make("div", { class: "tile" }, make("span", {}, name), make("b", {}, value), make("span", {}, detail))));

/* The first `texts` columns hold text, the others numbers; `styles` are classes of the rows. */
function tableOf(titles, rows, texts = 1, styles = []) {
  const cell = (tag) => (content, i) => make(tag, i < texts ? { class: "text" } : {}, ...[content].flat());
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...titles.map(cell("th")))),
    make("tbody", {}, ...rows.map((row, i) => make("tr", { class: styles[i] }, ...row.map(cell("td")))))));
}
const paragraph = (style, text) => (text ? make("p", { class: style }, text) : null);
const list = (style, lines) => make("ul", { class: style }, ...lines.map((text) => make("li", {}, text)));
