/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lifetime against size, the sites that may keep pages, and what is never freed. */
const scatter = { left: 62, right: 522, top: 40, bottom: 330 };

function logScale(least, most, from, to, base) {
  const low = Math.floor(Math.log(least) / Math.log(base) + 1e-9), high = Math.max(low + 1, Math.ceil(Math.log(most) / Math.log(base) - 1e-9));
  const at = (v) => from + ((Math.log(v) / Math.log(base) - low) / (high - low)) * (to - from);
  const every = Math.ceil((high - low) / 7), all = [];
  for (let k = low; k <= high; k += every) all.push(Math.pow(base, k));
  return { at, marks: all };
}

function drawScatter() {
  const box = byId("scatter");
  const shown = [...sites.objects.keys()].filter((i) => sites.objects[i] > 0)
    .sort((a, b) => weightOf(b) - weightOf(a)).slice(0, 1200);
  if (!shown.length) {
    box.append(make("p", { class: "empty" }, "There are no sites."));
    return;
  }
  const sizes = shown.map((i) => Math.max(1, sites.size[i])), lives = shown.map(life).filter(Boolean);
  const x = logScale(Math.min(...sizes), Math.max(...sizes, 16), scatter.left, scatter.right, 4);
  const y = logScale(Math.min(...lives, 1e9), Math.max(...lives, 1000), scatter.bottom, scatter.top + 26, 10);
  const drawing = svg("svg", { viewBox: "0 0 552 384", role: "img", "aria-label": "median lifetime against median size" });
  for (const mark of x.marks) {
    drawing.append(svg("line", { x1: x.at(mark), x2: x.at(mark), y1: scatter.top, y2: scatter.bottom, class: "grid" }),
      svg("text", { x: x.at(mark), y: scatter.bottom + 18, "text-anchor": "middle", class: "tick" }, bytes(mark)));
  }
  for (const mark of y.marks) {
    drawing.append(svg("line", { x1: scatter.left, x2: scatter.right, y1: y.at(mark), y2: y.at(mark), class: "grid" }),
      svg("text", { x: scatter.left - 8, y: y.at(mark) + 4, "text-anchor": "end", class: "tick" }, time(mark)));
  }
  drawing.append(svg("rect", { x: scatter.left, y: scatter.top - 14, width: scatter.right - scatter.left, height: 24, class: "band" }),
    svg("text", { x: scatter.left - 8, y: scatter.top + 2, "text-anchor": "end", class: "tick" }, "never"),
    svg("text", { x: scatter.left - 8, y: 14, "text-anchor": "end", class: "axis" }, "lifetime"),
    svg("text", { x: (scatter.left + scatter.right) / 2, y: scatter.bottom + 40, "text-anchor": "middle", class: "axis" }, "size"));
  shown.forEach((i, k) => {
    const radius = 2.5 + 17 * Math.sqrt(weightOf(i));
    const kind = site.remedy(i) === "nothing" ? "dot none" : "dot own";
    drawing.append(svg("circle", { cx: x.at(sizes[k]).toFixed(1), cy: (life(i) ? y.at(life(i)) : scatter.top - 2).toFixed(1),
      r: radius.toFixed(1), class: kind, onclick: () => choose({ site: i, reveal: true }),
      onpointermove: (event) => hint.show(event, [site.title(i), ["remedy", remedyText(site.remedy(i))],
        ["median size", bytes(sites.size[i])], ["median lifetime", life(i) ? time(life(i)) : "never freed"],
        ["allocations", count(sites.objects[i])], ["bytes", bytes(sites.bytes[i])]]),
      onpointerleave: hint.hide }));
  });
  box.append(drawing, make("p", { class: "keys small" }, make("i", { class: "dot-key own" }), "with a remedy",
    make("i", { class: "dot-key none" }), "change nothing"));
}
const weightOf = (i) => Math.max(sites.objects[i] / Math.max(1, totals.objects), sites.bytes[i] / Math.max(1, totals.bytes));

function siteButton(i) {
  return make("button", { class: "link", title: i < siteCount ? site.title(i) : "", onclick: () => choose({ site: i, reveal: true }) },
    i < siteCount ? [site.name(i), site.distinction(i)].filter(Boolean).join(" ") + (site.container(i) ? ", " + site.container(i) : "") : "a further site");
}

function drawPins() {
  const box = byId("pins"), most = Math.max(1, ...page.pins.map((p) => p.kept));
  if (!page.pins.length) {
    box.append(make("p", { class: "empty" }, "No site with long-lived objects is spread over many more pages than it fills."));
    return;
  }
  for (const p of page.pins)
    box.append(make("div", { class: "pin" }, siteButton(p.site),
      make("span", { class: "small" }, `on about ${counted(p.kept, "page")} (${bytes(p.kept * 4096)}), would fill ${count(p.needed)}; ` +
        `${percent(p.long, 1)} live long`),
      make("span", { class: "pin-bar" }, make("i", { class: "kept", style: `width:${((100 * p.kept) / most).toFixed(1)}%` }),
        make("i", { class: "needed", style: `width:${((100 * p.needed) / most).toFixed(1)}%` }))));
}

function drawLeftovers() {
  const box = byId("leftovers");
  if (!page.leftovers.length) return;
  const rows = page.leftovers.map((l) => make("tr", {}, make("td", { class: "text" }, siteButton(l.site),
    make("div", { class: "small" }, l.words)), make("td", {}, bytes(l.bytes)),
  make("td", {}, count(l.objects)),
  make("td", {}, svg("svg", { viewBox: "0 0 128 26", class: "spark wide", role: "img", "aria-label": "live bytes over time" },
    svg("path", { d: columns(l.live, 32, 128, 25, 0) }), svg("path", { d: "M0 25.5h128", class: "spark-base" })))));
  box.append(make("table", {}, make("thead", {}, make("tr", {}, make("th", { class: "text" }, "call site"), make("th", {}, "bytes"),
    make("th", {}, "objects"), make("th", {}, "alive over time"))), make("tbody", {}, ...rows)));
}

document.querySelectorAll(".gain").forEach((box) => box.replaceWith(levels(box.textContent)));
drawTimeline();
connectFlame();
connectTable();
drawScatter();
drawPins();
drawLeftovers();
choose({ bin: peakBin });
if (flame.measure.id !== "live" || !binCount) drawFlame();
document.documentElement.dataset.ready = "yes";
