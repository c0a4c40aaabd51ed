/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The flame graph: from the outermost call down, or inverted from the allocating call to its callers. A page has `calls`
   with six amounts each, their `names`, `measures`, `nothingToShow`, and of a frame `shade`, `frameTitle` and `frameRows`. */
const calls = page.calls;
const callName = (i) => names[calls.name[i]] || "smaller calls";
const amount = (k) => calls.parent.map((_, i) => calls.amounts[6 * i + k]);
const flame = { measure: null, inverted: false, library: false, zoom: [], search: "", chosen: "", drawn: () => {} };
/* Calls of the standard and the C library, in which no program's code stands. */
const libraryCall = /^(std::|__gnu_cxx::|operator (new|delete)|__libc_start|_start$|__clone|start_thread$|lib(std)?c(\+\+)?\.so)/;
const isHidden = (name) => !flame.library && libraryCall.test(name);

const newNode = (name, parent) => ({ name, parent, self: 0, value: 0, net: 0, children: new Map() });
function childOf(node, name) {
  if (!node.children.has(name)) node.children.set(name, newNode(name, node));
  return node.children.get(name);
}

/* `net`: signed amounts beside the widths; none are 0. */
function callTree(own, net) {
  const nodes = [];
  calls.parent.forEach((parent, i) => {
    const name = callName(i);
    nodes.push(i === 0 ? newNode("all", null) : isHidden(name) ? nodes[parent] : childOf(nodes[parent], name));
    nodes[i].self += own[i];
    nodes[i].net += net ? net[i] : 0;
  });
  return nodes[0];
}

function invertedTree(own, net) {
  const root = newNode("all", null);
  own.forEach((value, i) => {
    if (value <= 0) return;
    let at = root;
    for (let call = i; call !== 0; call = calls.parent[call])
      if (!isHidden(callName(call))) at = childOf(at, callName(call));
    at.self += value;
    at.net += net ? net[i] : 0;
  });
  return root;
}

function sumUp(root) {
  const order = [root];
  for (let i = 0; i < order.length; ++i) order.push(...order[i].children.values());
  for (let i = order.length - 1; i >= 0; --i) {
    const node = order[i];
    node.value += node.self;
    if (node.parent) {
      node.parent.value += node.value;
      node.parent.net += node.net;
    }
  }
  return root;
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
  return make("button", { class: `frame ${shade(node)}${muted ? " muted" : ""}${found ? " found" : ""}`,
    style: `left:${x.toFixed(3)}%;width:${width.toFixed(3)}%;top:${depth * 19}px`,
    onclick: () => { flame.zoom = pathOf(node); flame.chosen = node.name; drawFlame(); },
    onpointermove: (event) => hint.show(event, frameRows(node, share)),
    onpointerleave: hint.hide }, width > 2.2 ? frameTitle(node) : "");
}

function drawFlame() {
  const { own, net } = flame.measure;
  const root = sumUp((flame.inverted ? invertedTree : callTree)(own(), net && net()));
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
  flame.drawn();
}

function chooseMeasure(id) {
  byId("measure").value = id;
  flame.measure = measures.find((m) => m.id === id);
  drawFlame();
}

function connectFlame() {
  const select = byId("measure");
  for (const m of measures) select.append(make("option", { value: m.id }, m.label));
  flame.measure = measures[0];
  select.addEventListener("change", () => chooseMeasure(select.value));
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
}
