/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The measures of the flame graph, and its colours. */
const measures = [
  { id: "live", label: "live bytes at the chosen time", unit: bytes, own: () => liveAt(choice.bin), when: () => "at " + binTime(choice.bin) },
  { id: "grown", label: "live bytes: grown since the compared time", unit: bytes, own: () => difference(choice.from, choice.bin), when: since },
  { id: "shrunk", label: "live bytes: shrunk since the compared time", unit: bytes, own: () => difference(choice.bin, choice.from), when: since },
  { id: "bytes", label: "all allocations, by bytes", unit: bytes, own: () => amount(1) },
  { id: "objects", label: "all allocations, by number", unit: count, own: () => amount(0) },
  { id: "temporary", label: "temporaries: freed before the next allocation", unit: count, own: () => amount(2) },
  { id: "never", label: "never freed, by bytes", unit: bytes, own: () => amount(5) },
];

function liveAt(last) {
  const own = new Array(calls.parent.length).fill(0);
  for (let bin = 0; bin <= last && bin < calls.changes.length; ++bin) {
    const flat = calls.changes[bin];
    for (let i = 0; i < flat.length; i += 2) own[flat[i]] += flat[i + 1];
  }
  return own;
}

/* What more is alive at the second time than at the first, for each call by itself. */
function difference(first, second) {
  const before = liveAt(first);
  return liveAt(second).map((value, i) => Math.max(0, value - before[i]));
}
/* The time that is compared with begins as the chosen one. */
function nothingToShow() {
  return flame.measure.when === since && choice.from === choice.bin ? "Choose another time to compare with."
    : "There is nothing to show for this measure.";
}
function since() { return `from ${binTime(choice.from)} to ${binTime(choice.bin)}`; }

function shade({ name }) {
  if (name === "smaller calls" || name === "all") return "f-rest";
  let hash = 7;
  for (let i = 0; i < name.length; ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return "f" + (hash % 6);
}

const frameRows = (node, share) => [node.name, [flame.measure.unit(node.value), share], ["of its own", flame.measure.unit(node.self)]];
const frameTitle = (node) => node.name;

function connectChoice() {
  choice.listeners.push((change) => {
    if ("from" in change) chooseMeasure("grown");
    else if ("bin" in change && flame.measure.when) drawFlame();
  });
}
