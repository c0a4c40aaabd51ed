/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The verdict, the facts and the plan of routes; then all parts of the page are drawn. */
const proposal = (p) => make("li", {}, paragraph("where", p.site), sourceLine(p.code), paragraph("advice", "→ " + p.advice), levels(p.gain));

function drawVerdict() {
  byId("warnings").append(...page.warnings.map((text) => paragraph("warning", text)));
  fill(byId("verdict"), {}, [paragraph("headline", page.headline), page.use && make("pre", {}, page.use),
    page.effects.length ? barChart("measured remedies", "the program as it is = 1", page.effects, { names: 26 }) : null,
    page.measured && make("details", {}, make("summary", {}, "How it was measured, and each of them"), make("pre", {}, page.measured)),
    paragraph("summary", page.summary), page.proposals.length ? make("ol", {}, ...page.proposals.map(proposal)) : null,
    page.proposals.length ? paragraph("small", page.estimateNote) : null,
    ...(page.noCode.length ? [make("h3", {}, "Without a change of code"), list("", page.noCode)] : [])]);
  byId("verdict").after(tiles(page.facts));
}

function drawPlan() {
  if (!page.planNote) return;
  const rows = page.plan.map((g) => [g.group, g.remedy, g.titles, (g.stays ? "" : "Left the plan. ") + (g.effect || "–"),
    count(g.objects), bytes(g.chunk_bytes), bytes(g.budget_bytes)]);
  const titles = ["group", "memory", "call sites", "measured effect", "allocations", "chunk", "budget"];
  fill(byId("plan"), {}, [make("h2", {}, "Plan of routes"), paragraph("", page.planNote), rows.length
    ? make("div", { class: "plan" }, tableOf(titles, rows, 4, page.plan.map((g) => (g.stays ? "" : "none")))) : null]);
}

byId("order").prepend(page.order);
byId("ending").textContent = page.ending.join(" ");
drawVerdict();
drawPlan();
drawTimeline();
connectFlame();
connectChoice();
connectTable();
drawScatter();
drawPins();
drawLeftovers();
choose({ bin: peakBin });
if (flame.measure.id !== "live" || !binCount) drawFlame();
document.documentElement.dataset.ready = "yes";
