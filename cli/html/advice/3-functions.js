/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of the flame graph with their callers and callees, in its measure. */
const sandwich = { rows: 12 };
flame.drawn = drawFunctions;

/* Of each function the amount of its calls, and the part of each caller and callee: recursion counts once. */
function functionsOf(root) {
  const all = new Map(), open = new Map();
  const of = (name) => {
    if (!all.has(name)) all.set(name, { name, own: 0, value: 0, callers: new Map(), callees: new Map() });
    return all.get(name);
  };
  const enter = (key) => open.set(key, (open.get(key) || 0) + 1).get(key) === 1;
  const leave = (key) => open.set(key, open.get(key) - 1);
  const add = (map, name, value) => map.set(name, (map.get(name) || 0) + value);
  const visit = (node) => {
    if (node.value <= 0) return;
    const own = of(node.name), caller = node.parent.name, edge = caller + " → " + node.name;
    own.own += node.self;
    if (enter(node.name)) own.value += node.value;
    if (enter(edge) && node.parent !== root) {
      add(own.callers, caller, node.value);
      add(of(caller).callees, node.name, node.value);
    }
    node.children.forEach(visit);
    leave(edge);
    leave(node.name);
  };
  root.children.forEach(visit);
  return all;
}

function drawFunctions() {
  const all = functionsOf(sumUp(callTree(flame.measure.own()))), unit = flame.measure.unit;
  const order = (rows) => rows.sort((a, b) => b.value - a.value);
  const found = order([...all.values()].filter((f) => f.name.toLowerCase().includes(flame.search)));
  const chosen = all.get(flame.chosen) || found[0];
  const draw = (id, rows, whole, none) => byId(id).replaceChildren(...rows.slice(0, sandwich.rows).map((f) =>
    make("button", { class: "key" + (f.name === (chosen || {}).name ? " chosen" : ""), title: f.name, onclick: () => {
      flame.chosen = f.name;
      drawFunctions();
    } }, make("span", {}, f.name), make("b", {}, unit(f.value)), make("b", { class: "small" }, percent(f.value, whole)))),
  paragraph("small", rows.length > sandwich.rows ? `and ${count(rows.length - sandwich.rows)} more` : rows.length ? "" : none) || "");
  const listed = (map) => order([...map].map(([name, value]) => ({ name, value })));
  draw("functions", found, found.length ? Math.max(...found.map((f) => f.value)) : 0, "No function has these letters.");
  byId("chosen-call").textContent = chosen ? `${chosen.name}: ${unit(chosen.value)}, of its own ${unit(chosen.own)}` : "";
  draw("callers", chosen ? listed(chosen.callers) : [], chosen ? chosen.value : 0, "None: the outermost call.");
  draw("callees", chosen ? listed(chosen.callees) : [], chosen ? chosen.value : 0, "None: it allocates itself.");
}
