/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call sites, which stand in columns, with each name once; and what the reader has chosen. */
const sites = page.sites;
const names = page.names;
const siteCount = sites.function.length;
const estimates = new Map(page.sites.estimates);
const site = {
  name: (i) => names[sites.function[i]],
  place: (i) => {
    const file = names[sites.file[i]], at = sites.line[i];
    if (at > 0) return file + ":" + at;
    return at < 0 ? file + "+0x" + (-at).toString(16) : site.name(i).startsWith(file + "+0x") ? "" : file;
  },
  distinction: (i) => names[sites.distinction[i]],
  container: (i) => names[sites.container[i]],
  remedy: (i) => sites.remedies[names[sites.rule[i]]],
  rule: (i) => names[sites.rule[i]],
  estimate: (i) => (estimates.has(i) ? estimates.get(i) : sites.objects[i] * page.pairNs),
  /* Name, place and what tells it from others, as its caller. */
  title: (i) => (i >= siteCount ? "a further site" : site.name(i) + (site.place(i) ? " (" + site.place(i) + ")" : "") +
    (site.distinction(i) ? " " + site.distinction(i) : "") + (site.container(i) ? ", " + site.container(i) : "")),
};
/* The upper end of a quarter of an octave; 0 if none was freed. */
function life(i) {
  const bucket = sites.life[i];
  if (bucket < 8) return Math.max(0, bucket);
  return (bucket % 4 + 5) * Math.pow(2, Math.floor(bucket / 4) - 1) - 1;
}
const remedyText = (name) => sites.words[name];
const total = (column) => column.reduce((sum, value) => sum + value, 0);
const totals = { objects: total(sites.objects), bytes: total(sites.bytes) };

/* Others react to these choices. */
const choice = { site: -1, bin: 0, from: 0, listeners: [] };  /* from: the time compared with */
function choose(change) {
  Object.assign(choice, change);
  for (const listener of choice.listeners) listener(change);
}
