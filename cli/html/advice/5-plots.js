/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lifetime against size, the sites that may keep pages, and what is never freed. */
const scatter = { left: 62, right: fitting(552) - 30, top: 40, bottom: 330 };

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
  const drawing = drawingOf(fitting(552), 384, "median lifetime against median size");
  xAxis(drawing, x, scatter.top, scatter.bottom, (scatter.left + scatter.right) / 2, "size", bytes);
  yAxis(drawing, y, scatter.left, scatter.right, time);
  drawing.append(svg("rect", { x: scatter.left, y: scatter.top - 14, width: scatter.right - scatter.left, height: 24, class: "band" }),
    label(scatter.left - 8, scatter.top + 2, "never", "end", "tick"), label(scatter.left - 8, 14, "lifetime", "end", "axis"));
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
  const shape = (live) => svg("svg", { viewBox: "0 0 128 26", class: "spark wide", role: "img", "aria-label": "live bytes over time" },
    svg("path", { d: columns(live, 32, 128, 25, 0) }), svg("path", { d: "M0 25.5h128", class: "spark-base" }));
  const rows = page.leftovers.map((l) => [[siteButton(l.site), make("div", { class: "small" }, l.words)], bytes(l.bytes),
    count(l.objects), shape(l.live)]);
  box.append(tableOf(["call site", "bytes", "objects", "alive over time"], rows));
}
