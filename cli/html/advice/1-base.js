/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The data of the page, units for people, and elements: text enters the page as text alone. */
"use strict";
const page = JSON.parse(document.getElementById("data").textContent);
const sites = page.sites;
const names = page.names;

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
const count = (n) => (n < 10000 ? Math.round(n).toLocaleString("en-US") : scaled(n, ["", "k", "M", "G"], 1000));
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

const siteCount = sites.function.length;
const estimates = new Map(page.sites.estimates);
const site = {
  name: (i) => names[sites.function[i]],
  place: (i) => {
    const file = names[sites.file[i]], at = sites.line[i];
    if (at > 0) return file + ":" + at;
    return at < 0 ? file + "+0x" + (-at).toString(16) : site.name(i).startsWith(file + "+0x") ? "" : file;
  },
  distinction: (i) => names[sites.distinction[i]],
  container: (i) => names[sites.container[i]],
  remedy: (i) => sites.remedies[names[sites.rule[i]]],
  rule: (i) => names[sites.rule[i]],
  estimate: (i) => (estimates.has(i) ? estimates.get(i) : sites.objects[i] * page.pairNs),
  /* Name, place and what tells it from others, as its caller. */
  title: (i) => (i >= siteCount ? "a further site" : site.name(i) + (site.place(i) ? " (" + site.place(i) + ")" : "") +
    (site.distinction(i) ? " " + site.distinction(i) : "") + (site.container(i) ? ", " + site.container(i) : "")),
};
/* The upper end of a quarter of an octave; 0 if none was freed. */
function life(i) {
  const bucket = sites.life[i];
  if (bucket < 8) return Math.max(0, bucket);
  return (bucket % 4 + 5) * Math.pow(2, Math.floor(bucket / 4) - 1) - 1;
}
const remedyText = (name) => sites.words[name];
const total = (column) => column.reduce((sum, value) => sum + value, 0);
const totals = { objects: total(sites.objects), bytes: total(sites.bytes) };

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

/* Others react to these choices. */
const choice = { site: -1, bin: 0, from: 0, listeners: [] };  /* from: the time compared with */
function choose(change) {
  Object.assign(choice, change);
  for (const listener of choice.listeners) listener(change);
}
