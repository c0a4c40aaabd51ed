/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of call sites: sorted by a click on a title, searched, with the sentences of a site under its row. */
const lifeClasses = ["< 100 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"];
const ruleWords = {
  small: "Too few calls and bytes to matter: any gain would be below what runs can show.",
  none: "Neither an order of deaths nor batches, and nothing for the cells of a pool.",
};
const columnsOfTable = [
  { id: "site", title: "call site", text: true, key: (i) => site.name(i).toLowerCase() },
  { id: "remedy", title: "remedy", text: true, key: (i) => remedyText(site.remedy(i)) },
  { id: "objects", title: "allocations", key: (i) => sites.objects[i] },
  { id: "bytes", title: "bytes", key: (i) => sites.bytes[i] },
  { id: "peak", title: "peak alive", key: (i) => sites.peakBytes[i] },
  { id: "never", title: "never freed", key: (i) => sites.neverBytes[i] },
  { id: "life", title: "lifetimes, median", key: (i) => life(i) || Infinity },
  { id: "estimate", title: "estimate", key: (i) => site.estimate(i) },
];
const table = { sort: null, descending: true, search: "", remedy: "", rows: [], shown: 20 };

function shareBar(value, whole) {
  const width = whole > 0 ? Math.max(value > 0 ? 1 : 0, (100 * value) / whole) : 0;
  return make("span", { class: "share", "aria-hidden": "true" }, make("i", { style: `width:${width.toFixed(1)}%` }));
}

function spark(i) {
  const digits = sites.lives[i] || "";
  const drawing = svg("svg", { viewBox: "0 0 66 18", class: "spark", role: "img" },
    svg("path", { d: columns(digits, 11, 66, 17, 1) }), svg("path", { d: "M0 17.5h66", class: "spark-base" }));
  const most = [...digits].reduce((best, c, k) => (digit(c) > digit(digits[best]) ? k : best), 0);
  const words = sites.lives[i] === undefined ? "" : digits ? "most live from " + lifeClasses[most] + (most + 1 < 11 ? " to " + lifeClasses[most + 1] : " on")
    : "none was freed";
  drawing.append(svg("title", {}, words.replace("from < 100 ns to 100 ns", "less than 100 ns")));
  return drawing;
}

function siteRow(i) {
  const remedy = site.remedy(i);
  const name = make("td", { class: "text site" }, make("div", { class: "name" }, site.name(i)),
    make("div", { class: "small" }, [site.place(i), site.distinction(i), site.container(i) && "· " + site.container(i)]
      .filter(Boolean).join(" ")));
  const number = (text, bar) => make("td", {}, make("span", {}, text), bar);
  const row = make("tr", { class: "site-row" + (i === choice.site ? " chosen" : ""), tabindex: "0", "data-site": i,
    "aria-expanded": i === choice.site ? "true" : "false", onclick: () => choose({ site: i === choice.site ? -1 : i }),
    onkeydown: (event) => { if (event.key === "Enter") choose({ site: i === choice.site ? -1 : i }); } },
  name, make("td", { class: "text" }, make("span", { class: "chip" + (remedy === "nothing" ? " none" : "") }, remedyText(remedy))),
  number(count(sites.objects[i]), shareBar(sites.objects[i], totals.objects)),
  number(bytes(sites.bytes[i]), shareBar(sites.bytes[i], totals.bytes)),
  number(bytes(sites.peakBytes[i])), number(sites.neverBytes[i] ? bytes(sites.neverBytes[i]) : "–"),
  make("td", {}, spark(i), make("span", { class: "small" }, life(i) ? time(life(i)) : "–")),
  number(time(site.estimate(i))));
  return i === choice.site ? [row, detailRow(i)] : [row];
}

function lifetimesFigure(i) {
  const digits = (sites.lives[i] || "").padEnd(11, "0");
  const drawing = drawingOf(440, 96, "lifetimes of the freed objects");
  drawing.append(svg("path", { d: columns(digits, 11, 440, 70, 3), class: "column" }), line(0, 70.5, 440, 70.5, "base-line"));
  for (let k = 1; k < lifeClasses.length; k += 2)
    drawing.append(line(k * 40, 70, k * 40, 74, "base-line"), label(k * 40, 88, lifeClasses[k], "middle", "tick"));
  return make("figure", { class: "inner" }, make("figcaption", {}, "Lifetimes of the freed objects"), drawing);
}

/* "ESTIMATE: …. SIMULATED: …" in parts, each with its level as a mark. */
function levels(text) {
  return make("div", { class: "levels" }, ...text.split(/(?=\b(?:ESTIMATE|SIMULATED|PREDICTED|MEASURED)\b:? )/).filter(Boolean).map((part) => {
    const level = /^(ESTIMATE|SIMULATED|PREDICTED|MEASURED):? /.exec(part);
    return make("p", {}, level && make("span", { class: "level " + level[1].toLowerCase() }, level[1].toLowerCase()),
      (level ? part.slice(level[0].length) : part).replace(/[.]? *$/, ""));
  }));
}

const sourceLine = (text) => text && make("code", {}, text);

function detailRow(i) {
  const cell = make("td", { colspan: columnsOfTable.length, class: "text detail" });
  const detail = page.details[i];
  const isWhole = i < sites.atPeak.length;
  const facts = [`median size ${bytes(sites.size[i])}`, ...(isWhole ? [`${count(sites.peakObjects[i])} alive at most`,
    `${bytes(sites.atPeak[i])} at the program's peak`, `${percent(sites.temporary[i], sites.objects[i])} temporary`] : [])];
  if (!detail) {
    cell.append(make("p", {}, ruleWords[site.rule(i)] || "The rule: " + site.rule(i).replace(/_/g, " ") + "."),
      make("p", { class: "small" }, facts.join(" · ")), isWhole ? lifetimesFigure(i) : "");
  } else {
    const [amounts, evidence, advice, gain, chain] = detail;
    const capital = evidence.charAt(0).toUpperCase() + evidence.slice(1);
    cell.append(make("div", { class: "detail-grid" },
      make("div", {}, make("p", {}, amounts), make("p", {}, capital + "."), make("p", { class: "advice" }, "→ " + advice),
        levels(gain), make("p", { class: "small" }, facts.join(" · ")), lifetimesFigure(i)),
      make("div", {}, make("p", { class: "small" }, "The call chain with the most of its objects, innermost first"),
        make("ol", { class: "chain" }, ...chain.map((call, k) => (k % 2 ? null : make("li", {}, names[call], sourceLine(names[chain[k + 1]]))))))));
  }
  return make("tr", { class: "detail-row" }, cell);
}

function selectRows() {
  const all = [];
  for (let i = 0; i < siteCount; ++i) {
    if (table.remedy && (table.remedy === "any" ? site.remedy(i) === "nothing" : site.remedy(i) !== table.remedy)) continue;
    if (table.search && !(site.name(i) + " " + site.place(i) + " " + site.distinction(i) + " " + site.container(i)).toLowerCase().includes(table.search)) continue;
    all.push(i);
  }
  if (table.sort) {
    const keys = new Map(all.map((i) => [i, table.sort.key(i)]));
    const order = (a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : a - b);
    all.sort(table.descending ? (a, b) => order(b, a) : order);
  }
  table.rows = all;
}

function drawTable() {
  const rows = table.rows.slice(0, table.shown);
  byId("rows").replaceChildren(...rows.flatMap(siteRow));
  const beyond = sites.all > siteCount ? ` Of ${counted(sites.all, "site")} the page holds the first ${count(siteCount)}.` : "";
  const found = table.rows.length < siteCount && rows.length < table.rows.length ? `, of ${count(table.rows.length)} found` : "";
  byId("table-status").textContent = `${count(rows.length)} of ${counted(siteCount, "site")}${found}.` + beyond;
  byId("more").hidden = rows.length === table.rows.length;
  for (const c of columnsOfTable) {
    const sorted = table.sort === c;
    byId("sort-" + c.id).setAttribute("aria-sort", sorted ? (table.descending ? "descending" : "ascending") : "none");
  }
  saveView();
}

function revealSite(i) {
  let at = table.rows.indexOf(i);
  if (at < 0) {
    table.search = table.remedy = byId("site-search").value = byId("remedy").value = "";
    selectRows();
    at = table.rows.indexOf(i);
  }
  table.shown = Math.max(table.shown, Math.ceil((at + 1) / 20) * 20);
  drawTable();
  const row = document.querySelector(`tr[data-site="${i}"]`);
  if (row) row.scrollIntoView({ block: "center" });
}

function refreshTable() {
  table.search = byId("site-search").value.trim().toLowerCase();
  table.remedy = byId("remedy").value;
  table.shown = 20;
  selectRows();
  drawTable();
}

function connectTable() {
  const head = columnsOfTable.map((c) => make("th", { id: "sort-" + c.id, class: c.text ? "text" : "", scope: "col" },
    make("button", { class: "sort", onclick: () => {
      table.descending = table.sort === c ? !table.descending : !c.text;
      table.sort = c;
      selectRows();
      drawTable();
    } }, c.title)));
  byId("head").append(...head);
  const remedies = [...new Set(Object.values(sites.remedies))].filter((r) => r !== "nothing").sort();
  byId("remedy").append(make("option", { value: "" }, "all sites"), make("option", { value: "any" }, "with a remedy"),
    ...remedies.map((r) => make("option", { value: r }, remedyText(r))), make("option", { value: "nothing" }, "change nothing"));
  byId("site-search").addEventListener("input", refreshTable);
  byId("remedy").addEventListener("change", refreshTable);
  byId("more").addEventListener("click", () => { table.shown += 200; drawTable(); });
  choice.listeners.push((change) => {
    if (!("site" in change)) return;
    if (change.reveal) revealSite(change.site);
    else drawTable();
  });
  window.addEventListener("hashchange", restoreView);
  restoreView();
}
