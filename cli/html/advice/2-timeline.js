/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Live bytes over time, stacked by the largest sites, with the lanes of spans and threads below. */
const memory = page.timeline;
const binCount = memory.bytes.length;
const lastNs = Math.max(memory.ends.length ? memory.ends[memory.ends.length - 1] : 0, 1);
const peakBin = memory.bytes.reduce((best, value, i) => (value > memory.bytes[best] ? i : best), 0);
const plot = { width: fitting(1120), left: 128, right: fitting(1120) - 12, top: 26, bottom: 236 };
const xOf = (ns) => plot.left + (Math.min(ns, lastNs) / lastNs) * (plot.right - plot.left);
const binAt = (x) => Math.max(0, Math.min(binCount - 1,
  Math.floor((((x - plot.left) / (plot.right - plot.left)) * lastNs) / memory.bin)));
const binTime = (i) => time(Math.min(i * memory.bin, lastNs));

/* Sums of the layers below each, for each bin; the last is what no layer has. */
const stacked = (() => {
  const sums = [new Array(binCount).fill(0)];
  for (const layer of memory.layers)
    sums.push(sums[sums.length - 1].map((below, i) => below + (layer.bytes[i] || 0)));
  sums.push(memory.bytes.map((all, i) => Math.max(all, sums[sums.length - 1][i])));
  return sums;
})();
const layerName = (k) => (k < memory.layers.length ? site.title(memory.layers[k].site) : "all other sites");
const layerBytes = (k, bin) => stacked[k + 1][bin] - stacked[k][bin];

function areaPath(k, yOf) {
  let there = "", back = "";
  for (let i = 0; i < binCount; ++i) {
    const from = xOf(i * memory.bin).toFixed(1), to = xOf((i + 1) * memory.bin).toFixed(1);
    const high = yOf(stacked[k + 1][i]).toFixed(1), low = yOf(stacked[k][i]).toFixed(1);
    there += (i ? "L" : "M") + from + " " + high + "H" + to;
    back = "H" + from + back;
    back = "L" + to + " " + low + back;
  }
  return there + back + "Z";
}

function timeAxis(y) {
  const parts = [];
  for (const mark of marks(lastNs, plot.width / 140, 10)) {
    const isLast = xOf(mark) > plot.right - 20;
    parts.push(line(xOf(mark), y, xOf(mark), y + 4, "base-line"),
      label(isLast ? plot.width - 2 : xOf(mark), y + 17, time(mark), isLast ? "end" : "middle", "tick"));
  }
  return parts;
}

function lane(y, name, cells, style, rows) {
  const title = hinted(label(plot.left - 8, y + 10, shortened(name, 19), "end", "tick"), name);
  const strip = svg("g", { class: style }, svg("rect", { x: plot.left, y, width: plot.right - plot.left, height: 12,
    class: "lane" }), ...cells);
  strip.addEventListener("pointermove", (event) => hint.show(event, rows(event)));
  strip.addEventListener("pointerleave", hint.hide);
  return [title, strip];
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
  if (!binCount || !memory.bytes[peakBin]) {
    box.append(make("p", { class: "empty" }, "Nothing was alive at any time."));
    return;
  }
  const most = memory.bytes[peakBin] * 1.04;
  const yOf = (value) => plot.bottom - (value / most) * (plot.bottom - plot.top);
  const rows = laneRows(), shown = rows.slice(0, 24);
  const lanesTop = plot.bottom + 34, bottom = lanesTop + shown.length * 16;
  const drawing = drawingOf(plot.width, Math.max(bottom + 4, plot.bottom + 26), "live bytes over time, stacked by site");
  drawing.append(label(plot.left - 8, plot.top - 12, "live bytes", "end", "axis"));
  yAxis(drawing, { marks: marks(most, 4, 1024), at: yOf }, plot.left, plot.right, bytes);
  for (let k = 0; k + 1 < stacked.length; ++k) {
    const index = k < memory.layers.length ? memory.layers[k].site : -1;
    drawing.append(svg("path", { d: areaPath(k, yOf), class: "layer " + (index < 0 ? "rest" : "c" + k),
      "data-site": index }));
  }
  for (const end of memory.ends.slice(0, -1))
    drawing.append(line(xOf(end), plot.top, xOf(end), plot.bottom, "trace-end"));
  drawing.append(line(plot.left, plot.bottom, plot.right, plot.bottom, "base-line"), ...timeAxis(plot.bottom));
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
  slider.style.width = `${(100 * (plot.right - plot.left)) / plot.width}%`;
  slider.style.marginLeft = `${(100 * plot.left) / plot.width}%`;
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
    const rows = [binTime(at), ["live", bytes(memory.bytes[at])]];
    for (let k = 0; k + 1 < stacked.length; ++k)
      if (layerBytes(k, at) > 0.01 * memory.bytes[at]) rows.push([layerName(k), bytes(layerBytes(k, at))]);
    hint.show(event, rows.slice(0, 8));
  });
  drawing.addEventListener("pointerleave", hint.hide);
  slider.addEventListener("input", () => choose({ bin: Number(slider.value) }));
  byId("to-peak").addEventListener("click", () => choose({ bin: peakBin }));
  byId("to-end").addEventListener("click", () => choose({ bin: binCount - 1 }));
  byId("compare").addEventListener("click", () => choose({ from: choice.bin }));
  const follow = () => {
    const x = xOf((choice.bin + 0.5) * memory.bin);
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
    const index = k < memory.layers.length ? memory.layers[k].site : -1;
    return make("button", { class: "key", title: layerName(k), ...(index < 0 || index >= siteCount ? { disabled: "" } : {}),
      onclick: () => choose({ site: index, reveal: true }) },
    make("i", { class: index < 0 ? "rest" : "c" + k }), make("span", {}, layerName(k)),
    make("b", {}, bytes(layerBytes(k, at))));
  });
  byId("legend").replaceChildren(...rows);
  byId("moment").textContent = `At ${binTime(at)}: ${bytes(memory.bytes[at])} alive` + (at === peakBin ? ", the peak" : "");
}
