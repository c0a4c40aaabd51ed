/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The view of the table as the fragment of the address: a link to it restores site, search and order. */
function saveView() {
  const view = new URLSearchParams();
  const set = (key, value) => { if (value) view.set(key, value); };
  set("find", byId("site-search").value);
  set("remedy", byId("remedy").value);
  set("sort", table.sort && (table.descending ? "-" : "") + table.sort.id);
  set("site", choice.site >= 0 && site.title(choice.site));
  if (location.hash.slice(1) === String(view)) return;
  try { history.replaceState(null, "", "#" + view); } catch (e) { /* a frame without an address of its own */ }
}

function restoreView() {
  const view = new URLSearchParams(location.hash.slice(1)), text = (key) => view.get(key) || "", sort = text("sort");
  byId("site-search").value = text("find");
  byId("remedy").value = text("remedy");
  table.sort = columnsOfTable.find((c) => c.id === sort.replace("-", "")) || null;
  table.descending = sort.startsWith("-");
  refreshTable();
  const wanted = view.has("site") ? sites.function.findIndex((_, i) => site.title(i) === text("site")) : -1;
  if (wanted !== choice.site) choose({ site: wanted, reveal: wanted >= 0 });
}
