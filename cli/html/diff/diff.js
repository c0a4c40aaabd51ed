/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The comparison of two sides: totals, limits, the flame graph of what differs, and the call sites. */
const names = page.names;
const { before, after, limits, changes } = page.diff;
const minus = (a, b) => a.map((value, i) => value - b[i]);
const signed = (n, text) => (n === 0 ? "–" : (n > 0 ? "+" : "−") + text(Math.abs(n)));

/* Of each figure what differs in either way, all of the new side, and all of the old one. */
const measures = [["bytes", "bytes allocated", bytes, 1], ["objects", "allocations", count, 0], ["never", "bytes never freed", bytes, 2]]
  .flatMap(([id, label, unit, k]) => {
    const was = amount(k), is = amount(k + 3), net = () => minus(is, was);
    return [{ id, label: label + ": what differs", unit, own: () => net().map(Math.abs), net },
      { id: id + "-after", label: label + ": after", unit, own: () => is, net },
      { id: id + "-before", label: label + ": before", unit, own: () => was, net }];
  });
const nothingToShow = () => "There is nothing to show for this measure: both sides are equal, or have no call stacks.";
const net = (node) => signed(node.net, flame.measure.unit);
const frameTitle = (node) => (node.net === 0 ? "" : node.net > 0 ? "▲ " : "▼ ") + node.name;
const frameRows = (node, share) => [node.name, [flame.measure.unit(node.value), share], ["more or less", net(node)]];

/* In five steps from equal to all of the width. */
function shade(node) {
  const step = Math.min(4, Math.ceil(4 * Math.abs(node.net) / Math.max(node.value, 1)));
  return step === 0 ? "f-rest" : (node.net > 0 ? "more" : "fewer") + step;
}

function drawTotals() {
  const tile = (name, key) => [name, `${bytes(before[key].bytes)} → ${bytes(after[key].bytes)}`,
    `${signed(after[key].bytes - before[key].bytes, bytes)}; ${grouped(before[key].objects)} → ${counted(after[key].objects, "object")}`];
  const traces = (side) => (side.traces.length > 1 ? side.traces.join(", ") : "");
  fill(byId("totals"), {}, [paragraph("small", [traces(before), traces(after)].filter(Boolean).join(" → ")),
    tiles([tile("allocated", "allocated"), tile("peak", "peak"), tile("never freed", "never_freed")]),
    ...[...before.notes, ...after.notes].map((text) => paragraph("small", text)),
    limits.length ? tableOf(["limit", "", "was", "is", "at most"], limits.map((l) => [`${l.figure}: growth of ${l.growth}`,
      l.kept ? "kept" : "exceeded", grouped(l.was), grouped(l.is), grouped(l.most)]), 2, limits.map((l) => (l.kept ? "" : "own"))) : null]);
}

function drawChanges() {
  const both = (c, key, unit, text) => signed(c[key][unit] - c["was_" + key][unit], text);
  const place = (c) => (c.site && c.was_site && c.site !== c.was_site ? `${c.site}, was ${c.was_site}` : c.site || c.was_site);
  const left = page.allChanges - changes.length;
  fill(byId("changes"), {}, [paragraph("", page.diff.text), changes.length ? tableOf(["call site", "", "bytes", "objects", "never freed"],
    changes.map((c) => [make("code", {}, place(c)), c.change, both(c, "allocated", "bytes", bytes), both(c, "allocated", "objects", grouped),
      both(c, "never_freed", "bytes", bytes)]), 1) : null, left ? paragraph("small", `and ${counted(left, "smaller change")}`) : null]);
}

drawTotals();
connectFlame();
drawFlame();
drawChanges();
document.documentElement.dataset.ready = "yes";
