/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report of a trace: what it holds, and of its replay the verdict, the table and the plots. */
const { report, replay } = page;
const box = byId("report");
const part = (...children) => fill(box, {}, children);
const figure = (title, caption, drawing) => make("figure", {}, make("h3", {}, title), make("figcaption", {}, caption), drawing);
const pair = (a, b) => make("div", { class: "pair" }, a, b);
const total = report.allocated.objects;
const exactly = (n, one, many = one + "s") => grouped(n) + " " + (n === 1 ? one : many);

const isHeld = (row) => row.kind.startsWith("null");
const nameOf = (row) => (row.name === "null" ? "null (replay loop)" : row.name);
const styleOf = (row) => (isHeld(row) ? "none" : row.kind !== "malloc" ? "own" : row.name === "glibc" ? "baseline" : "rival");
/* The measured candidates, the fastest first, the null allocator last. */
function ranked() {
  const rows = replay.allocators.filter((row) => !row.failure && (!isHeld(row) || row.name === "null"));
  return rows.sort((a, b) => isHeld(a) - isHeld(b) || a.ns_per_operation.median - b.ns_per_operation.median || (a.name < b.name ? -1 : 1));
}

function candidateCells(row) {
  const baseline = replay.allocators.find((other) => other.name === replay.baseline), ns = row.ns_per_operation, calls = row.latency_ns.all;
  const compares = baseline && !isHeld(row);
  const latency = (s) => (s.median < row.timer_step_ns ? "< " + Math.round(row.timer_step_ns) : grouped(Math.round(s.median)));
  return [nameOf(row), figures3(ns.median), figures3(ns.min) + "–" + figures3(ns.max), figures3(row.cpu_ns_per_operation.median),
    latency(calls.p50), latency(calls.p99), latency(calls.p99_9), time(calls.max.median), bytes(row.peak_rss_bytes.median),
    compares && replay.counts.peak_live_bytes ? (row.peak_rss_bytes.median / replay.counts.peak_live_bytes).toFixed(2) + "x" : "",
    compares ? bytes(row.end_rss_bytes.median) : "", compares ? bytes(row.peak_held_bytes.median) : "",
    count(row.page_faults.median), figures3(row.user_ms.median), figures3(row.system_ms.median),
    compares ? (ns.median / baseline.ns_per_operation.median).toFixed(2) + "×" : ""];
}

/* A different shape for each mark, so that colour carries no meaning alone; marks at the same place nest. */
const tailMarks = [["p50", (x, y, style) => svg("circle", { cx: x, cy: y, r: 3, class: style })],
  ["p99", (x, y, style) => svg("circle", { cx: x, cy: y, r: 6, class: style + " hollow" })],
  ["p99.9", (x, y, style) => svg("path", { d: `M${x} ${y - 10.5}l10.5 10.5l-10.5 10.5l-10.5 -10.5z`, class: style + " hollow" })],
  ["max", (x, y, style) => svg("rect", { x: x - 2, y: y - 9, width: 4, height: 18, class: style })]];

/* p50 to max of each row on one logarithmic axis; values below a step of the clock are drawn at it. */
function tailChart(rows) {
  const step = Math.max(1, ...rows.map((row) => row.timer_step_ns)), width = fitting(920), left = 146, right = width - 96, top = 38;
  const bottom = top + 32 * rows.length + 4, drawing = drawingOf(width, bottom + 44, "latency of calls, p50 to max");
  const x = logScale(step, Math.max(...rows.map((row) => row.latency_ns.all.max.median)), left + 8, right);
  xAxis(drawing, x, top, bottom, (left + right) / 2, "time of one call (logarithmic)", time);
  tailMarks.forEach(([name, draw], i) => drawing.append(draw(left + 90 * i + 10, 14, "plain"), label(left + 90 * i + 26, 18.5, name, "start", "tick")));
  rows.forEach((row, i) => {
    const y = top + 32 * (i + 0.5) + 2, ns = (name) => row.latency_ns.all[name.replace(".", "_")].median, at = (name) => x.at(Math.max(ns(name), step));
    drawing.append(label(left - 10, y + 5, shortened(row.name, 18), "end", styleOf(row) === "own" ? "name strong" : "name"),
      line(at("p50"), y, at("max"), y, styleOf(row) + " stem"));
    for (const [name, draw] of [...tailMarks].reverse())  /* the smallest on top */
      drawing.append(hinted(draw(at(name), y, styleOf(row)), `${row.name}, ${name}: ${ns(name) < step ? "below " + time(step) : time(ns(name))}`));
    drawing.append(label(at("max") + 10, y + 5, time(ns("max")), "start", "value"));
  });
  return drawing;
}

function drawReplay() {
  const rows = ranked(), competing = rows.filter((row) => !isHeld(row));
  const bars = (shown, key) => shown.map((row) => ({ ...row[key], name: nameOf(row), style: styleOf(row) }));
  part(make("h2", {}, "Replay"), make("p", {}, page.headline), tableOf(["allocator", "ns/op", "spread", "cpu ns/op", "p50 ns", "p99 ns",
    "p99.9 ns", "max", "peak RSS", "of live", "at end", "mapped", "faults", "user ms", "sys ms", replay.baseline ? "vs " + replay.baseline : ""],
  rows.map(candidateCells), 1, rows.map(styleOf)),
  figure("Time of an operation", "Mean time of an allocation or a free, touching the memory included: processor time of one thread, " +
    "wall time of several; bars are medians of the repetitions, whiskers their least and greatest. Shorter is better.",
  barChart("time of an operation", "nanoseconds an operation", bars(rows, "ns_per_operation"))),
  figure("Tail latency", "The calls alone, timed one by one in repetitions of their own; medians of those.", tailChart(competing)),
  figure("Memory", "Peak resident memory above what was resident before the replay. Shorter is better.",
    barChart("peak memory", "peak RSS", bars(competing, "peak_rss_bytes"), { base: 1024, text: bytes })),
  list("notes", [...replay.allocators.filter((row) => row.failure).map((row) => row.name + ": " + row.failure), ...page.notes]));
}

/* A histogram; `weight` is the height of a row's column. */
function columnChart(title, xName, unit, yName, base, rows, weight) {
  const width = fitting(452), left = 64, top = 34, right = width - 8, bottom = 210, drawing = drawingOf(width, 262, title), text = base === 1024 ? bytes : count;
  const y = linear(Math.max(base === 1024 ? 0 : 4, ...rows.map(weight)), bottom, top, base, 4), step = (right - left) / Math.max(1, rows.length);
  const every = Math.floor(56 / step) + 1, mark = (v) => (v === 0 ? "0" : short(unit(v)));  /* a label needs about 56 units */
  yAxis(drawing, y, left, right, text);
  drawing.append(label(4, top - 14, yName, "start", "axis"));
  rows.forEach((row, i) => {
    const at = left + step * i, value = weight(row);
    const range = row.from === row.to ? mark(row.from) : `${mark(row.from)} to ${mark(row.to + 1)}`;
    if (value > 0) drawing.append(hinted(svg("rect", { x: at + step * 0.1, y: y.at(value), width: step * 0.8, height: bottom - y.at(value),
      class: "column" }), `${range}: ${base === 1024 ? bytes(value) : counted(value, "object")}`));
    if (i % every === 0) drawing.append(line(at, bottom, at, bottom + 4, "base-line"), label(at, bottom + 18, mark(row.from), "middle", "tick"));
  });
  drawing.append(line(left, bottom, right, bottom, "base-line"), label((left + right) / 2, bottom + 40, xName, "middle", "axis"));
  return drawing;
}

/* The least and the greatest live bytes of each interval. */
function areaChart(title, points, duration) {
  const width = fitting(920), left = 76, top = 34, right = width - 20, bottom = 240, drawing = drawingOf(width, 292, title);
  const y = linear(Math.max(1, ...points.map((p) => p.greatest)), bottom, top, 1024, 4), whole = Math.max(duration, 1);
  const x = (ns) => left + (Math.min(ns, whole) / whole) * (right - left);
  const step = points.length > 1 ? points[1].time_ns - points[0].time_ns : whole;
  const edge = (key) => points.flatMap((p) => [[x(p.time_ns), y.at(p[key])], [x(p.time_ns + step), y.at(p[key])]]);
  const polygon = (corners, style) => svg("polygon", { points: corners.map((c) => c.map((v) => v.toFixed(1)).join(",")).join(" "), class: style });
  const low = edge("least"), end = low.length ? low[low.length - 1][0] : left;
  yAxis(drawing, y, left, right, bytes);
  drawing.append(label(left - 60, top - 14, "live bytes", "start", "axis"), polygon([...low, [end, bottom], [left, bottom]], "area"),
    polygon([...edge("greatest"), ...low.reverse()], "area-edge"));
  for (const mark of marks(whole, width / 115, 10))
    drawing.append(line(x(mark), bottom, x(mark), bottom + 4, "base-line"), label(x(mark), bottom + 17, short(time(mark)), "middle", "tick"));
  drawing.append(line(left, bottom, right, bottom, "base-line"),
    label((left + right) / 2, bottom + 40, "time since the program started", "middle", "axis"));
  return drawing;
}

function sitesTable(title, rows, amount) {
  if (!rows.length) return [];
  const calls = (site) => [...site.calls.map((call, i) => make("code", {}, (i ? "← " : "") + call)),
    site.through && make("code", {}, "through " + site.through)];
  return [make("h3", {}, title), tableOf(["call site", "objects", "bytes", "mean life"], rows.map((site) => [calls(site),
    grouped(site[amount].objects), bytes(site[amount].bytes), site.mean_lifetime_ns ? time(site.mean_lifetime_ns) : "–"]))];
}

function drawTrace() {
  const objects = (row) => row.objects, common = report.common_sizes.slice(0, 4)
    .map((row) => `${row.from} B (${percent(row.objects, total)})`).join(", ");
  part(make("h2", {}, "What the program allocates"),
    figure("Live bytes", `Bytes that the program had requested and not yet freed. Peak ${bytes(report.peak.bytes)} after ${time(report.peak.time_ns)}.`,
      areaChart("live bytes over time", report.live_bytes, report.duration_ns)),
    pair(figure("Sizes, by objects", common && "Most common: " + common,
      columnChart("sizes by objects", "requested size", bytes, "objects", 10, report.sizes, objects)),
    figure("Sizes, by bytes", "The same objects, weighted by their bytes.",
      columnChart("sizes by bytes", "requested size", bytes, "requested bytes", 1024, report.sizes, (row) => row.bytes))),
    pair(figure("Lifetimes, in time", "From allocation to free. Objects that were never freed are left out.",
      columnChart("lifetimes in time", "time from allocation to free", time, "objects", 10, report.lifetimes_ns, objects)),
    figure("Lifetimes, in bytes", "Bytes that any thread allocated in between.",
      columnChart("lifetimes in bytes", "bytes allocated between allocation and free", bytes, "objects", 10, report.lifetimes_bytes, objects))));
  if (report.thread_count > 1)
    part(make("h3", {}, "Threads"), tableOf(["thread", "from", "to", "allocations", "bytes", "frees", "freed by others"],
      report.threads.map((t) => [`${t.thread} ${t.name}`.trim(), time(t.first_ns), time(t.last_ns), grouped(t.allocations), bytes(t.bytes),
        grouped(t.frees), grouped(t.freed_by_others)])));
  if (report.spans.length)
    part(make("h3", {}, "Spans"), tableOf(["span", "times", "p50", "p99", "p99.9", "allocations", "most in one", "most bytes at once"],
      report.spans.map((s) => [s.name, grouped(s.count), time(s.p50_ns), time(s.p99_ns), time(s.p99_9_ns), grouped(s.allocations),
        grouped(s.most_allocations), bytes(s.most_peak_bytes)])), paragraph("notes", page.spanNote));
  part(paragraph("notes", page.passedThrough), ...sitesTable("Call sites by objects", report.call_sites_by_objects, "allocated"),
    ...sitesTable("Call sites by bytes", report.call_sites_by_bytes, "allocated"),
    ...sitesTable("Call sites of objects never freed", report.call_sites_never_freed, "never_freed"), paragraph("notes", page.noSites));
}

part(...[report.warning, report.own_allocator ? report.own_allocator.text : "", report.choice, ...report.notes].map((text) => paragraph("", text)));
if (replay)
  part(make("div", { class: "verdict" }, paragraph("", replay.verdict), paragraph("", replay.meaning), paragraph("", page.findingsHeading),
    list("notes", replay.findings)));
part(tiles([["recorded", time(report.duration_ns), exactly(report.events, "event")],
  ["allocated", bytes(report.allocated.bytes), exactly(total, "object")],
  ["peak", bytes(report.peak.bytes), exactly(report.peak.objects, "object live", "objects live")],
  ["never freed", bytes(report.never_freed.bytes), exactly(report.never_freed.objects, "object")],
  ["resident peak", report.resident_peak_bytes === null ? "unknown" : bytes(report.resident_peak_bytes), "of the process"],
  ["threads", grouped(report.thread_count), exactly(report.cross_thread_frees, "free across", "frees across")],
  ["failed calls", grouped(report.failed_calls), "returned null"]]));
if (replay) drawReplay();
drawTrace();
document.documentElement.dataset.ready = "yes";
