/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The flame graph: from the outermost call down, or inverted from the allocating call to its callers. */
const calls = page.calls;
const callName = (i) => names[calls.name[i]] || "smaller calls";
const measures = [
  { id: "live", label: "live bytes at the chosen time", unit: bytes, own: () => liveAt(choice.bin), when: () => "at " + binTime(choice.bin) },
  { id: "grown", label: "live bytes: grown since the compared time", unit: bytes, own: () => difference(choice.from, choice.bin), when: since },
  { id: "shrunk", label: "live bytes: shrunk since the compared time", unit: bytes, own: () => difference(choice.bin, choice.from), when: since },
  { id: "bytes", label: "all allocations, by bytes", unit: bytes, own: () => amount(1) },
  { id: "objects", label: "all allocations, by number", unit: count, own: () => amount(0) },
  { id: "temporary", label: "temporaries: freed before the next allocation", unit: count, own: () => amount(2) },
  { id: "never", label: "never freed, by bytes", unit: bytes, own: () => amount(5) },
];
const flame = { measure: measures[0], inverted: false, library: false, zoom: [], search: "" };
/* Calls of the standard and the C library, in which no program's code stands. */
const libraryCall = /^(std::|__gnu_cxx::|operator (new|delete)|__libc_start|_start$|__clone|start_thread$|lib(std)?c(\+\+)?\.so)/;
const isHidden = (name) => !flame.library && libraryCall.test(name);
const amount = (k) => calls.parent.map((_, i) => calls.amounts[6 * i + k]);

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

const newNode = (name, parent) => ({ name, parent, self: 0, value: 0, children: new Map() });
function childOf(node, name) {
  if (!node.children.has(name)) node.children.set(name, newNode(name, node));
  return node.children.get(name);
}

function callTree(own) {
  const nodes = [];
  calls.parent.forEach((parent, i) => {
    const name = callName(i);
    nodes.push(i === 0 ? newNode("all", null) : isHidden(name) ? nodes[parent] : childOf(nodes[parent], name));
    nodes[i].self += own[i];
  });
  return nodes[0];
}

function invertedTree(own) {
  const root = newNode("all", null);
  own.forEach((value, i) => {
    if (value <= 0) return;
    let at = root;
    for (let call = i; call !== 0; call = calls.parent[call])
      if (!isHidden(callName(call))) at = childOf(at, callName(call));
    at.self += value;
  });
  return root;
}

function sumUp(root) {
  const order = [root];
  for (let i = 0; i < order.length; ++i) order.push(...order[i].children.values());
  for (let i = order.length - 1; i >= 0; --i) {
    const node = order[i];
    node.value += node.self;
    if (node.parent) node.parent.value += node.value;
  }
  return root;
}

function shade(name) {
  if (name === "smaller calls" || name === "all") return "f-rest";
  let hash = 7;
  for (let i = 0; i < name.length; ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return "f" + (hash % 6);
}

/* Returns: the node that the zoom leads to; as deep as its path exists. */
function zoomed(root) {
  let at = root;
  for (const name of flame.zoom) {
    const next = at.children.get(name);
    if (!next || next.value <= 0) break;
    at = next;
  }
  return at;
}

const pathOf = (node) => (node.parent ? [...pathOf(node.parent), node.name] : []);

function frameBox(node, x, width, depth, whole, muted) {
  const found = flame.search && node.name.toLowerCase().includes(flame.search);
  const share = percent(node.value, whole);
  return make("button", { class: `frame ${shade(node.name)}${muted ? " muted" : ""}${found ? " found" : ""}`,
    style: `left:${x.toFixed(3)}%;width:${width.toFixed(3)}%;top:${depth * 19}px`,
    onclick: () => { flame.zoom = pathOf(node); sandwich.chosen = node.name; drawFlame(); },
    onpointermove: (event) => hint.show(event, [node.name, [flame.measure.unit(node.value), share],
      ["of its own", flame.measure.unit(node.self)]]),
    onpointerleave: hint.hide }, width > 2.2 ? node.name : "");
}

function drawFlame() {
  const own = flame.measure.own();
  const root = sumUp((flame.inverted ? invertedTree : callTree)(own));
  const box = byId("flame"), at = zoomed(root);
  const frames = [];
  let deepest = 0;
  const ancestors = [];
  for (let node = at.parent; node; node = node.parent) ancestors.unshift(node);
  ancestors.forEach((node, depth) => frames.push(frameBox(node, 0, 100, depth, root.value, true)));
  const place = (node, x, width, depth) => {
    deepest = Math.max(deepest, depth);
    frames.push(frameBox(node, x, width, depth, root.value, false));
    let left = x;
    const inOrder = [...node.children.values()].filter((child) => child.value > 0).sort((a, b) => b.value - a.value);
    for (const child of inOrder) {
      const wide = (child.value / node.value) * width;
      if (wide >= 0.07) place(child, left, wide, depth + 1);
      left += wide;
    }
  };
  if (root.value > 0) place(at, 0, 100, ancestors.length);
  else frames.push(make("p", { class: "empty" }, nothingToShow()));
  const hidden = document.activeElement && box.contains(document.activeElement);
  box.style.height = Math.max(3, deepest + 1) * 19 + "px";
  box.replaceChildren(...frames);
  if (hidden) box.parentElement.focus({ preventScroll: true });
  const when = flame.measure.when ? " " + flame.measure.when() : "";
  byId("flame-status").textContent = `${flame.measure.unit(root.value)}${when}` +
    (at === root ? "" : `; shown: ${at.name}, ${flame.measure.unit(at.value)}, ${percent(at.value, root.value)}`);
  byId("flame-reset").disabled = at === root;
  drawFunctions();
}

function connectFlame() {
  const select = byId("measure");
  for (const m of measures) select.append(make("option", { value: m.id }, m.label));
  const measure = (id) => {
    select.value = id;
    flame.measure = measures.find((m) => m.id === id);
    drawFlame();
  };
  select.addEventListener("change", () => measure(select.value));
  for (const box of ["inverted", "library"])
    byId(box).addEventListener("change", (event) => {
      flame[box] = event.target.checked;
      flame.zoom = [];
      drawFlame();
    });
  byId("flame-search").addEventListener("input", (event) => {
    flame.search = event.target.value.trim().toLowerCase();
    drawFlame();
  });
  const reset = () => { flame.zoom = []; drawFlame(); };
  byId("flame-reset").addEventListener("click", reset);
  byId("flame").parentElement.addEventListener("keydown", (event) => { if (event.key === "Escape") reset(); });
  choice.listeners.push((change) => {
    if ("from" in change) measure("grown");
    else if ("bin" in change && flame.measure.when) drawFlame();
  });
}
