// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The look of the pages of advice, report and replay in a browser, and what they do there.
#include "cli/tests/advise/pages.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::advise_page, ashlar_test::synthetic, ashlar_test::record_of;
using ashlar_test::has, ashlar_test::starts;
using nlohmann::json;

/// The page in a browser of the machine, if it has one.
class advise_look : public advise_page {
protected:
  void SetUp() override {
    if (ashlar_test::run_shell("command -v chromium >/dev/null") != 0)
      GTEST_SKIP() << "skipped: there is no chromium, so no one looks at the page";
  }

  /// Returns: what `script` leaves in the page's element "seen", in a window of that width. Expects: the page reaches
  /// its end without a fault, and fits.
  json look(const std::string& page, const std::string& script = "", int width = 1200, const std::string& view = "") {
    const std::string early =
        "<script>window.faults = []; window.onerror = (text) => { faults.push(text); };\n"
        "document.addEventListener('securitypolicyviolation', (e) => faults.push(e.blockedURI));</script>";
    const std::string late = "<script>{ let seen = {}; try {" + script +
                             "} catch (e) { faults.push(String(e)); }\nseen.faults = faults;"
                             "seen.width = document.documentElement.scrollWidth;"
                             "seen.ready = document.documentElement.dataset.ready;"
                             "document.body.append(make('pre', {id: 'seen'}, JSON.stringify(seen).replace(/[<>&]/g, "
                             "(c) => '\\\\u00' + c.charCodeAt(0).toString(16)))); }</script>";
    std::string all = page;
    all.insert(all.find("<style>"), early);
    all.insert(all.rfind("</body>"), late);
    std::ofstream(file("look.html")) << all;
    const std::string command =
        "chromium --headless=new --no-sandbox --disable-gpu --window-size=" + std::to_string(width) + ",900 " +
        std::string("--user-data-dir=") + file("profile") + " --virtual-time-budget=5000 " + "--dump-dom file://" +
        ashlar::cli::quoted(file("look.html") + view) + " > " + file("dom") + " 2> " + file("log");
    EXPECT_EQ(ashlar_test::run_shell(command), 0) << text("log");
    const std::string dom = text("dom"), begin = "<pre id=\"seen\">";
    const std::size_t from = dom.find(begin);
    if (from == dom.npos) return ADD_FAILURE() << "the page did not run: " << text("log"), json();
    json seen = json::parse(dom.substr(from + begin.size(), dom.find("</pre>", from) - from - begin.size()));
    EXPECT_EQ(seen["faults"], json::array());
    EXPECT_EQ(seen["ready"], "yes");
    EXPECT_LE(seen["width"].get<int>(), width);
    return seen;
  }
};

TEST_F(advise_look, fits_1200_pixels_and_reacts) {
  const json seen = look(page_of(recorded("tables")), R"js(
    seen.layers = document.querySelectorAll(".layer").length;
    seen.rows = document.querySelectorAll(".site-row").length;
    seen.frames = {};
    for (const m of measures)
      for (const inverted of [false, true]) {
        flame.measure = m; flame.inverted = inverted; flame.zoom = []; drawFlame();
        seen.frames[m.id + (inverted ? " inverted" : "")] = document.querySelectorAll(".frame").length;
      }
    document.querySelectorAll(".frame")[1].click();
    seen.zoomed = document.querySelectorAll(".frame.muted").length;
    document.querySelector(".site-row").click();
    seen.details = document.querySelectorAll(".detail-row").length;
    byId("site-search").value = "no such site"; byId("site-search").dispatchEvent(new Event("input"));
    seen.found = document.querySelectorAll(".site-row").length;
    byId("site-search").value = ""; byId("site-search").dispatchEvent(new Event("input"));
    byId("sort-bytes").firstChild.click();
    const sorted = [...document.querySelectorAll(".site-row")].map((row) => sites.bytes[row.dataset.site]);
    seen.sorted = sorted.every((value, i) => i === 0 || sorted[i - 1] >= value);
    const live = (bin) => { choose({ bin }); return liveAt(bin).reduce((sum, value) => sum + value, 0); };
    flame.inverted = false; flame.zoom = [];
    const end = binCount - 1, first = live(0), last = live(end);
    choose({ bin: 0 });
    byId("compare").click(); seen.undecided = byId("flame").textContent;
    choose({ bin: end });
    seen.compared = byId("measure").value;
    seen.status = byId("flame-status").textContent;
    const sum = (values) => values.reduce((all, value) => all + value, 0);
    seen.balance = first + sum(difference(0, end)) - sum(difference(end, 0)) - last;
    choose({ bin: 0 });
    seen.moment = byId("moment").textContent;)js");
  EXPECT_GT(seen["layers"].get<int>(), 1);
  EXPECT_GT(seen["rows"].get<int>(), 0);
  EXPECT_EQ(seen["compared"], "grown");
  EXPECT_EQ(seen["undecided"], "Choose another time to compare with.");
  EXPECT_TRUE(has(seen["status"], " from 0 to "));
  EXPECT_EQ(seen["balance"], 0) << "what has grown less what has shrunk";
  for (const char* measure : {"live", "live inverted", "bytes", "objects inverted", "never"})
    EXPECT_GT(seen["frames"][measure].get<int>(), 2) << measure;
  EXPECT_GT(seen["zoomed"].get<int>(), 0);
  EXPECT_EQ(seen["details"], 1);
  EXPECT_EQ(seen["found"], 0);
  EXPECT_EQ(seen["sorted"], true);
  EXPECT_TRUE(starts(seen["moment"], "At 0: "));
}

/// main calls once and twice, and these call leaf: with 1 byte each, and leaf calls itself.
TEST_F(advise_look, callers_and_callees_add_up_and_recursion_counts_once) {
  json page = synthetic(3, "p");
  page["calls"] = {{"parent", {0, 0, 1, 1, 2, 3, 5}},
                   {"name", {"all", "main", "once", "twice", "leaf", "leaf", "leaf"}},
                   {"amounts", json(42, 1)},
                   {"changes", json::array()}};
  const json seen = look(html_advice(page), R"js(
    byId("measure").value = "bytes"; byId("measure").dispatchEvent(new Event("change"));
    const listed = (id) => [...byId(id).querySelectorAll(".key")].map((row) =>
      [...row.children].slice(0, 2).map((part) => part.textContent).join(" "));
    seen.all = listed("functions");
    byId("flame-search").value = "LEAF"; byId("flame-search").dispatchEvent(new Event("input"));
    seen.found = listed("functions"); seen.callers = listed("callers"); seen.own = byId("chosen-call").textContent;
    byId("flame-search").value = ""; byId("flame-search").dispatchEvent(new Event("input"));
    [...byId("functions").querySelectorAll(".key")].find((row) => row.title === "main").click();
    seen.callees = listed("callees"); seen.none = byId("callers").textContent;)js");
  EXPECT_EQ(seen["all"], (json{"main 6 B", "leaf 3 B", "twice 3 B", "once 2 B"}));
  EXPECT_EQ(seen["found"], json{"leaf 3 B"});
  EXPECT_EQ(seen["callers"], (json{"twice 2 B", "once 1 B", "leaf 1 B"}));
  EXPECT_EQ(seen["own"], "leaf: 3 B, of its own 3 B");
  EXPECT_EQ(seen["callees"], (json{"twice 3 B", "once 2 B"}));
  EXPECT_EQ(seen["none"], "None: the outermost call.");
}

TEST_F(advise_look, a_link_restores_site_search_and_order) {
  const std::string page = html_advice(synthetic(60, "a name & more"));
  const json first = look(page, R"js(
    byId("site-search").value = "NAME & more1"; byId("site-search").dispatchEvent(new Event("input"));
    byId("sort-peak").firstChild.click();
    [...document.querySelectorAll(".site-row")].pop().click();
    seen.view = location.hash; seen.row = document.querySelector(".chosen .name").textContent;
    seen.rows = table.rows;)js");
  const json again = look(page, R"js(
    seen.view = location.hash; seen.row = document.querySelector(".chosen .name").textContent; seen.rows = table.rows;
    seen.details = document.querySelectorAll(".detail-row").length;)js",
                          1200, first["view"]);
  for (const char* part : {"view", "row", "rows"}) EXPECT_EQ(again[part], first[part]);
  EXPECT_EQ(again["details"], 1);
  EXPECT_EQ(first["rows"].size(), 22U);
  EXPECT_EQ(
      look(page, "seen.shown = document.querySelectorAll('.site-row').length;", 1200, "#site=none&sort=no")["shown"],
      20);
}

TEST_F(advise_look, hostile_names_are_text) {
  for (const std::string name : {"<img src=x onerror=alert(1)></script><b id=broken>", "${x}`\\\"'\n<!--"}) {
    const json seen = look(html_advice(synthetic(40, name)), R"js(
      seen.images = document.images.length;
      seen.broken = document.getElementById("broken") !== null;
      seen.name = document.querySelector(".site .name").textContent;
      document.querySelector(".site-row").click();
      drawFlame();)js");
    EXPECT_EQ(seen["images"], 0);
    EXPECT_EQ(seen["broken"], false);
    EXPECT_EQ(seen["name"], name + "0");
  }
}

TEST_F(advise_look, long_names_and_many_sites_and_none_fit) {
  for (const std::string& page :
       {html_advice(synthetic(20'000, std::string(300, 'n'))), html_advice(synthetic(0, "p")), page_of(sample(0))})
    look(page);
}

/// Of 20 sites the fifth frees nothing.
TEST_F(advise_look, what_is_never_freed_lives_longest_and_a_search_counts_all_sites) {
  json page = synthetic(0, "p");
  for (std::uint64_t i = 0; i < 20; ++i) {
    json record = record_of(i, "site", 20);
    record["features"]["median_life_ns"] = i == 5 ? 0 : 1000 + i;
    record["distinction"] = "";
    page["sites"].push_back(page_row(record));
  }
  const json seen = look(html_advice(page), R"js(
    const first = () => document.querySelector(".site-row .name").textContent;
    byId("sort-life").firstChild.click();
    seen.longest = first();
    byId("site-search").value = "site1"; byId("site-search").dispatchEvent(new Event("input"));
    seen.found = byId("table-status").textContent;
    const right = (text) => text.getBBox().x + text.getBBox().width;
    seen.right = Math.max(...[...document.querySelectorAll("#timeline text")].map(right));)js");
  EXPECT_EQ(seen["longest"], "site5");
  EXPECT_EQ(seen["found"], "11 of 20 sites.");
  EXPECT_LE(seen["right"].get<double>(), 1120) << "the last time is cut";
}

TEST_F(advise_look, text_of_charts_is_readable_in_a_narrow_window) {
  const char* const script = R"js(
    seen.window = innerWidth;
    seen.least = Math.min(...[...document.querySelectorAll("svg text")].map((text) =>
      parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a));)js";
  const std::string trace = recorded("tables"), advice = page_of(trace);
  ASSERT_EQ(ashlar("report " + trace + " --html " + file("r.html")), 0) << text("err");
  for (const std::string& page : {advice, text("r.html")}) {
    const json seen = look(page, script, 500);
    EXPECT_EQ(seen["window"], 500);
    EXPECT_GT(seen["least"], 9);
  }
}

TEST_F(advise_look, a_report_and_a_replay_are_drawn_from_their_json) {
  const char* const script = R"js(
    seen.columns = document.querySelectorAll("svg .column").length;
    seen.bars = document.querySelectorAll("svg .whisker").length;
    seen.text = document.querySelector("main").textContent;)js";
  const std::string trace = recorded("wrapper");
  ASSERT_EQ(ashlar("report " + trace + " --html " + file("r.html")), 0) << text("err");
  const json report = look(text("r.html"), script);
  EXPECT_GT(report["columns"].get<int>(), 10);
  EXPECT_EQ(report["bars"], 0);
  EXPECT_TRUE(has(report["text"], "checked_malloc"));
  ASSERT_EQ(ashlar("replay " + trace + " --with glibc,heap --repetitions 1 --html " + file("r.html")), 0)
      << text("err");
  const json replay = look(text("r.html"), script);
  EXPECT_EQ(replay["bars"], 15) << "three for each candidate and null in time, and without null in memory";
  for (const char* part : {"No gain on glibc is shown yet: ", "null (replay loop)", "heap: "})
    EXPECT_TRUE(has(replay["text"], part)) << part;
  ASSERT_EQ(ashlar("report " + sample(0) + " --html " + file("r.html")), 0) << text("err");
  EXPECT_EQ(look(text("r.html"), script)["columns"], 0);
}

/// The later build requests more in parse and in look_up, and less in read_all.
TEST_F(advise_look, a_comparison_has_a_flame_graph_of_what_differs) {
  const std::string before = trace_of(ASHLAR_DIFF_EARLIER, "old.trace"), after = trace_of(ASHLAR_DIFF_LATER);
  ASSERT_EQ(ashlar("diff " + before + " " + after + " --fail-above bytes=1% --html " + file("d.html")), 0)
      << text("err");
  const json seen = look(text("d.html"), R"js(
    seen.frames = [...document.querySelectorAll(".frame")].map((frame) => frame.textContent);
    seen.widths = {};
    for (const m of measures) { chooseMeasure(m.id); seen.widths[m.id] = byId("flame-status").textContent; }
    byId("inverted").click();
    chooseMeasure("bytes");
    [...document.querySelectorAll(".frame")].find((frame) => frame.textContent.endsWith("parse")).click();
    seen.zoomed = byId("flame-status").textContent;
    seen.text = document.querySelector("main").textContent;)js");
  for (const char* frame : {"▼ all", "▼ main", "▼ read_all", "▲ look_up", "▲ parse"})
    EXPECT_EQ(std::ranges::count(seen["frames"], frame), 1) << frame << seen["frames"];
  EXPECT_EQ(seen["widths"]["bytes"], "94.7 KiB");
  EXPECT_EQ(seen["zoomed"], "94.7 KiB; shown: parse, 36.1 KiB, 38 %");
  for (const char* part : {"Call sites, matched by function and line: 1 new, 1 gone, 1 more, 0 fewer", "kept",
                           "parse (program.cpp:24), was parse (program.cpp:22)"})
    EXPECT_TRUE(has(seen["text"], part)) << part;
  look(text("d.html"), "", 500);
}

}  // namespace
