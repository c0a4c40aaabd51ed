/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Live bytes over time, stacked by the largest sites, with the lanes of spans and threads below. */
const line = page.timeline;
const binCount = line.bytes.length;
const lastNs = Math.max(line.ends.length ? line.ends[line.ends.length - 1] : 0, 1);
const peakBin = line.bytes.reduce((best, value, i) => (value > line.bytes[best] ? i : best), 0);
const plot = { width: 1120, left: 128, right: 1108, top: 26, bottom: 236 };
const xOf = (ns) => plot.left + (Math.min(ns, lastNs) / lastNs) * (plot.right - plot.left);
const binAt = (x) => Math.max(0, Math.min(binCount - 1,
  Math.floor((((x - plot.left) / (plot.right - plot.left)) * lastNs) / line.bin)));
const binTime = (i) => time(Math.min(i * line.bin, lastNs));

/* Sums of the layers below each, for each bin; the last is what no layer has. */
const stacked = (() => {
  const sums = [new Array(binCount).fill(0)];
  for (const layer of line.layers)
    sums.push(sums[sums.length - 1].map((below, i) => below + (layer.bytes[i] || 0)));
  sums.push(line.bytes.map((all, i) => Math.max(all, sums[sums.length - 1][i])));
  return sums;
})();
const layerName = (k) => (k < line.layers.length ? site.title(line.layers[k].site) : "all other sites");
const layerBytes = (k, bin) => stacked[k + 1][bin] - stacked[k][bin];

function areaPath(k, yOf) {
  let there = "", back = "";
  for (let i = 0; i < binCount; ++i) {
    const from = xOf(i * line.bin).toFixed(1), to = xOf((i + 1) * line.bin).toFixed(1);
    const high = yOf(stacked[k + 1][i]).toFixed(1), low = yOf(stacked[k][i]).toFixed(1);
    there += (i ? "L" : "M") + from + " " + high + "H" + to;
    back = "H" + from + back;
    back = "L" + to + " " + low + back;
  }
  return there + back + "Z";
}

function axes(most, yOf) {
  const parts = [];
  for (const mark of marks(most, 4, 1024)) {
    const y = yOf(mark);
    parts.push(svg("line", { x1: plot.left, x2: plot.right, y1: y, y2: y, class: "grid" }));
    parts.push(svg("text", { x: plot.left - 8, y: y + 4, "text-anchor": "end", class: "tick" }, bytes(mark)));
  }
  return parts;
}

function timeAxis(y) {
  const parts = [];
  for (const mark of marks(lastNs, 8, 10)) {
    parts.push(svg("line", { x1: xOf(mark), x2: xOf(mark), y1: y, y2: y + 4, class: "base-line" }));
    const isLast = xOf(mark) > plot.right - 20;
    parts.push(svg("text", { x: isLast ? plot.width - 2 : xOf(mark), y: y + 17, "text-anchor": isLast ? "end" : "middle",
      class: "tick" }, time(mark)));
  }
  return parts;
}

function lane(y, name, cells, style, rows) {
  const label = svg("text", { x: plot.left - 8, y: y + 10, "text-anchor": "end", class: "tick" },
    name.length > 19 ? name.slice(0, 18) + "…" : name);
  label.append(svg("title", {}, name));
  const strip = svg("g", { class: style }, svg("rect", { x: plot.left, y, width: plot.right - plot.left, height: 12,
    class: "lane" }), ...cells);
  strip.addEventListener("pointermove", (event) => hint.show(event, rows(event)));
  strip.addEventListener("pointerleave", hint.hide);
  return [label, strip];
}

/* Cells of one opacity side by side are one rectangle. */
function cellsOf(values, binNs, y) {
  const cells = [];
  for (let i = 0; i < values.length;) {
    let end = i + 1;
    while (end < values.length && values[end] === values[i]) ++end;
    const from = xOf(i * binNs), to = xOf(end * binNs);
    if (values[i] > 0 && to > from)
      cells.push(svg("rect", { x: from.toFixed(1), y, width: (to - from).toFixed(1), height: 12,
        "fill-opacity": (0.18 + 0.82 * Math.min(1, values[i])).toFixed(2) }));
    i = end;
  }
  return cells;
}

function laneRows() {
  const lanes = page.lanes, rows = [];
  const spanRow = (s) => rows.push({ name: "· " + (s.name || "unnamed span"), style: "span-lane",
    values: s.shares.map((share) => share / 100), hint: () => [s.name || "unnamed span", ["on", s.thread],
      ["spans", count(s.spans)], ["mean", time(s.total / Math.max(1, s.spans))]] });
  if (lanes.threads.length < 2 && !lanes.spans.length) return rows;
  for (const t of lanes.threads) {
    rows.push({ name: t.name, style: "thread-lane", values: [...t.counts].map((c) => digit(c) / 35),
      hint: () => [t.name, "its allocations over time; full colour is its busiest moment"] });
    lanes.spans.filter((s) => s.thread === t.name).forEach(spanRow);
  }
  lanes.spans.filter((s) => !lanes.threads.some((t) => t.name === s.thread)).forEach(spanRow);
  return rows;
}

function drawTimeline() {
  const box = byId("timeline");
  if (!binCount || !line.bytes[peakBin]) {
    box.append(make("p", { class: "empty" }, "Nothing was alive at any time."));
    return;
  }
  const most = line.bytes[peakBin] * 1.04;
  const yOf = (value) => plot.bottom - (value / most) * (plot.bottom - plot.top);
  const rows = laneRows(), shown = rows.slice(0, 24);
  const lanesTop = plot.bottom + 34, bottom = lanesTop + shown.length * 16;
  const drawing = svg("svg", { viewBox: `0 0 ${plot.width} ${Math.max(bottom + 4, plot.bottom + 26)}`, role: "img",
    "aria-label": "live bytes over time, stacked by site" });
  drawing.append(svg("text", { x: plot.left - 8, y: plot.top - 12, "text-anchor": "end", class: "axis" }, "live bytes"),
    ...axes(most, yOf));
  for (let k = 0; k + 1 < stacked.length; ++k) {
    const index = k < line.layers.length ? line.layers[k].site : -1;
    drawing.append(svg("path", { d: areaPath(k, yOf), class: "layer " + (index < 0 ? "rest" : "c" + k),
      "data-site": index }));
  }
  for (const end of line.ends.slice(0, -1))
    drawing.append(svg("line", { x1: xOf(end), x2: xOf(end), y1: plot.top, y2: plot.bottom, class: "trace-end" }));
  drawing.append(svg("line", { x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom, class: "base-line" }),
    ...timeAxis(plot.bottom));
  shown.forEach((row, i) => {
    const y = lanesTop + i * 16;
    drawing.append(...lane(y, row.name, cellsOf(row.values, page.lanes.bin, y), row.style, row.hint));
  });
  const cursor = svg("line", { y1: plot.top - 6, y2: bottom, class: "cursor" });
  const knob = svg("path", { class: "knob" });
  drawing.append(cursor, knob);
  box.append(drawing);
  const notes = [page.lanes.note, rows.length > shown.length ? counted(rows.length - shown.length, "more lane is", "more lanes are") + " not drawn." : ""];
  if (notes.join("").trim()) box.append(make("p", { class: "small" }, notes.join(" ")));
  connectTimeline(drawing, cursor, knob);
}

function connectTimeline(drawing, cursor, knob) {
  const slider = byId("when");
  slider.max = binCount - 1;
  const bin = (event) => {
    const frame = drawing.getBoundingClientRect();
    return binAt(((event.clientX - frame.left) / frame.width) * plot.width);
  };
  const inPlot = (event) => {
    const frame = drawing.getBoundingClientRect();
    const y = ((event.clientY - frame.top) / frame.width) * plot.width, x = ((event.clientX - frame.left) / frame.width) * plot.width;
    return y < plot.bottom + 4 && x > plot.left - 10;
  };
  let dragging = false;
  drawing.addEventListener("pointerdown", (event) => {
    if (!inPlot(event)) return;
    dragging = true;
    drawing.setPointerCapture(event.pointerId);
    choose({ bin: bin(event) });
    event.preventDefault();
  });
  drawing.addEventListener("pointerup", () => { dragging = false; });
  drawing.addEventListener("pointermove", (event) => {
    if (!dragging && !inPlot(event)) return;
    const at = bin(event);
    if (dragging) choose({ bin: at });
    const rows = [binTime(at), ["live", bytes(line.bytes[at])]];
    for (let k = 0; k + 1 < stacked.length; ++k)
      if (layerBytes(k, at) > 0.01 * line.bytes[at]) rows.push([layerName(k), bytes(layerBytes(k, at))]);
    hint.show(event, rows.slice(0, 8));
  });
  drawing.addEventListener("pointerleave", hint.hide);
  slider.addEventListener("input", () => choose({ bin: Number(slider.value) }));
  byId("to-peak").addEventListener("click", () => choose({ bin: peakBin }));
  byId("to-end").addEventListener("click", () => choose({ bin: binCount - 1 }));
  byId("compare").addEventListener("click", () => choose({ from: choice.bin }));
  const follow = () => {
    const x = xOf((choice.bin + 0.5) * line.bin);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    knob.setAttribute("d", `M${x - 6} ${plot.top - 14}h12l-6 9z`);
    slider.value = choice.bin;
    slider.setAttribute("aria-valuetext", binTime(choice.bin));
    drawLegend();
  };
  choice.listeners.push((change) => { if ("bin" in change) follow(); });
}

function drawLegend() {
  const at = choice.bin;
  const rows = stacked.slice(1).map((_, k) => {
    const index = k < line.layers.length ? line.layers[k].site : -1;
    return make("button", { class: "key", title: layerName(k), ...(index < 0 || index >= siteCount ? { disabled: "" } : {}),
      onclick: () => choose({ site: index, reveal: true }) },
    make("i", { class: index < 0 ? "rest" : "c" + k }), make("span", {}, layerName(k)),
    make("b", {}, bytes(layerBytes(k, at))));
  });
  byId("legend").replaceChildren(...rows);
  byId("moment").textContent = `At ${binTime(at)}: ${bytes(line.bytes[at])} alive` + (at === peakBin ? ", the peak" : "");
}
