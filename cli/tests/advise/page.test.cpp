// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of advice: its data, its limits, names that would break out of it, and its look in a browser.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/advise/picture.hpp"
#include "cli/html/advice_page.hpp"
#include "cli/tests/advise/page.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::advise_look;
using ashlar_test::advise_page;
using ashlar_test::data_of;
using nlohmann::json;

/// Returns: the name of a site.
std::string name_of(const json& data, std::size_t site) {
  return data["names"][data["sites"]["function"][site].get<std::size_t>()];
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// A page with sites, calls and a timeline.
advice_page synthetic(std::size_t sites, const std::string& name, std::uint64_t most = 20'000) {
  advice_page page;
  page.program = name;
  page.headline = page.use = page.measured = page.summary = name;
  page.effects = {{name, "own", {0.9, 0.8, 0.95}}};
  page.warnings = {name};
  page.proposals = {{name, "pool", name, "ESTIMATE: 1 ms. SIMULATED: " + name}};
  page.no_code = {name};
  page.facts = {{name, name, name}};
  page.plan_note = page.order = name;
  for (std::size_t i = 0; i < 64; ++i) page.plan.push_back({name, name, name, name, i % 2 == 0, i, i << 12, i << 20});
  page.ending = {name};
  page.pair_ns = 20;
  for (std::size_t i = 0; i < sites; ++i) {
    page_site s;
    s.function = name + std::to_string(i);
    s.file = "file" + std::to_string(i % 700) + ".cpp";
    s.line = static_cast<std::int64_t>(i % 3001);
    s.distinction = i % 3 == 0 ? name + std::to_string(i / 3) : "";
    s.container = i % 7 == 0 ? name : "";
    s.remedy = i % 5 == 0 ? "pool" : "nothing";
    s.rule = i % 5 == 0 ? "few_sizes" : "small";
    const std::uint64_t rank = most / (1 + i) + 1;  // few sites allocate the most
    s.allocated = {1 + rank * 7919 % 1'000'000, 100 + rank * 104'729};
    s.peak = {1 + rank * 31 % 10'000, rank * 7907};
    s.never_freed = {i % 4 == 0 ? rank % 999 : 0, i % 4 == 0 ? rank * 13 : 0};
    s.at_program_peak = rank * 790;
    s.estimate_ns = 20 * static_cast<double>(s.allocated.objects);
    s.median_bytes = i * 17 % 4096;
    s.median_life_ns = i * 7919 % 1'000'000'000;
    s.temporary = rank % 1000;
    for (std::size_t k = 0; k < s.lifetimes.size(); ++k) s.lifetimes[k] = (i + 3 * k) % 97;
    s.detail = {name, name, name, "ESTIMATE: 1 ms", std::vector<std::string>(16, name + "c" + std::to_string(i))};
    page.sites.push_back(s);
  }
  page.timeline.bin_ns = 1'000'000;
  page.timeline.ends = {256'000'000};
  for (std::uint64_t i = 0; i < 256; ++i) page.timeline.bytes.push_back(i * 123'457);
  for (std::size_t k = 0; k < std::min<std::size_t>(9, sites); ++k)
    page.timeline.layers.emplace_back(k, std::vector<std::uint64_t>(256, 12'345 * k));
  page.lanes.bin_ns = 1'000'000;
  page.lanes.threads = {{name, std::vector<std::uint64_t>(256, 7)}};
  page.lanes.spans = {{name, name, 3, 99, std::vector<std::uint64_t>(256, 500'000)}};
  page.calls.calls.push_back({.name = "all"});
  for (std::uint32_t i = 1; i < 3000; ++i)
    page.calls.calls.push_back({i / 2, name + std::to_string(i), {i, i * 999}, {i / 2, i * 99}, {i / 3, i * 9}});
  for (std::uint32_t bin = 0; bin < 256; ++bin) {
    page.calls.changes.emplace_back();
    for (std::uint32_t i = 0; i < 78; ++i) page.calls.changes.back().push_back({1 + (bin * 78 + i) % 2999, 4097});
  }
  if (sites == 0) return page;
  page.pins = {{0, 1000, 10, 0.9}};
  page.leftovers = {{0, {1, 2, 3}, name}};
  return page;
}

TEST_F(advise_page, data_agrees_with_the_advice) {
  const std::string page = page_of(recorded("churn"));
  const json data = data_of(page), advice = json::parse(text("a.json"));
  EXPECT_EQ(data["sites"]["all"], advice["sites"].size());
  for (const auto& [name, column] : data["sites"].items()) {
    if (name != "all" && name != "estimates" && name != "remedies" && name != "words")
      EXPECT_EQ(column.size(), advice["sites"].size()) << name;
  }
  EXPECT_NE(page.find("list_churn"), std::string::npos);
  const auto& first = advice["sites"][0];
  EXPECT_EQ(data["sites"]["objects"][0], first["features"]["allocated"]["objects"]);
  const std::string rule = data["names"][data["sites"]["rule"][0].get<std::size_t>()];
  EXPECT_EQ(first["rule"], rule);
  EXPECT_EQ(data["sites"]["remedies"][rule], first["remedy"]);
  EXPECT_EQ(data["details"][0][1], first["evidence"]);
}

TEST_F(advise_page, has_the_plan_and_its_reason_if_there_is_none) {
  const std::string page = page_of(recorded("class"));
  const json advice = json::parse(text("a.json"));
  ASSERT_EQ(advice["plan"].size(), 1U);
  EXPECT_EQ(advice["plan"][0]["cell_bytes"], 48);
  EXPECT_EQ(advice["plan"][0]["stays"], true);
  EXPECT_EQ(advice["plan"][0]["trial"], nullptr);
  const std::string site = advice["plan"][0]["sites"][0];
  for (const std::string& part :
       {std::string("<h2>Plan of routes</h2>"), std::string("Memory of their own for 1 site in "),
        "<td class=\"text\">a pool of cells of 48 B</td>" + ("<td class=\"text\">" + site),
        std::string("<td class=\"text\">–</td>")})
    EXPECT_NE(page.find(part), page.npos) << part;
  const std::string without = page_of(recorded("churn"));
  EXPECT_NE(without.find("There is none: no long-lived objects are worth memory of their own."), without.npos);
  EXPECT_EQ(without.find("<div class=\"plan\""), without.npos);
}

TEST_F(advise_page, sums_over_calls_and_time_are_those_of_the_program) {
  const json data = data_of(page_of(recorded("tables"))), program = json::parse(text("a.json"))["features"];
  const auto bins = data["timeline"]["bytes"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(*std::max_element(bins.begin(), bins.end()), program["peak"]["bytes"]);
  std::vector<std::int64_t> sums(6);
  const auto amounts = data["calls"]["amounts"].get<std::vector<std::int64_t>>();
  for (std::size_t i = 0; i < amounts.size(); ++i) sums[i % 6] += amounts[i];
  EXPECT_EQ(sums[0], program["allocated"]["objects"]);
  EXPECT_EQ(sums[1], program["allocated"]["bytes"]);
  EXPECT_EQ(sums[4], program["never_freed"]["objects"]);
  EXPECT_EQ(sums[5], program["never_freed"]["bytes"]);
  std::int64_t live = 0;
  ASSERT_EQ(data["calls"]["changes"].size(), bins.size());
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    const auto flat = data["calls"]["changes"][bin].get<std::vector<std::int64_t>>();
    for (std::size_t i = 1; i < flat.size(); i += 2) live += flat[i];
    EXPECT_EQ(live, bins[bin]) << bin;
  }
  EXPECT_FALSE(data["leftovers"].empty());
  EXPECT_NE(data["leftovers"][0]["words"].get<std::string>().find("none is ever freed"), std::string::npos);
  EXPECT_NE(text("a.html").find("When the recording ends, "), std::string::npos);
}

TEST_F(advise_page, loads_nothing) {
  const std::string page = page_of(recorded("class"));
  for (const char* part : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "https:"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(advise_page_bounds, twenty_thousand_sites_are_two_megabytes) {
  const std::string page = html_advice(synthetic(20'000, "engine::scene::node_table::insert"));
  EXPECT_LE(page.size(), 2'000'000U);
  const json data = data_of(page);
  EXPECT_EQ(data["sites"]["all"], 20'000);
  EXPECT_EQ(data["sites"]["objects"].size(), 20'000U) << "all of them";
  EXPECT_GT(data["details"].size(), 50U);
  EXPECT_TRUE(name_of(data, 19'999).ends_with("9999"));
}

TEST(advise_page_bounds, long_names_and_large_figures_leave_sites_out) {
  constexpr std::size_t sites = 20'000;
  for (const std::string& name : {std::string(300, 'n'), std::string(60, '\x01'), std::string("operator<<(\"\\\n")}) {
    const std::string page = html_advice(synthetic(sites, name, std::uint64_t{1} << 50));
    EXPECT_LE(page.size(), 2'000'000U);
    EXPECT_GT(page.size(), 1'700'000U) << "no more are left out than needed";
    const json data = data_of(page);
    EXPECT_EQ(data["sites"]["all"], sites);
    EXPECT_GT(data["sites"]["objects"].size(), 5000U);
    EXPECT_LT(data["sites"]["objects"].size(), sites) << name;
  }
}

TEST(advise_page_bars, are_of_measured_remedies_and_a_gain_is_one_that_was_found) {
  const auto measured = [](const char* name, int pairs, double ratio, const char* takes) {
    return json{
        {"name", name},
        {"measures",
         {{"cpu_ms",
           {{"pairs", pairs}, {"ratio", ratio}, {"interval", {ratio - 0.01, ratio + 0.01}}, {"takes", takes}}}}}};
  };
  const json all = {{"remedies",
                     {measured("none", 0, 1, "undecided"),
                      measured("one", 1, 0.5, "undecided"),
                      measured("unsure", 5, 0.8, "undecided"),
                      measured("gain", 20, 0.7, "less"),
                      {{"name", "failed"}, {"failure", "died"}}}}};
  const std::vector<bar_row> bars = measured_bars(all);
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_EQ(bars[0].style, "baseline");
  EXPECT_EQ(bars[1].name + bars[1].style, "gainown");
  EXPECT_EQ(bars[2].name + bars[2].style, "unsurerival");
  EXPECT_TRUE(measured_bars({{"remedies", {all["remedies"][0]}}}).empty());
}

TEST(advise_page_names, cannot_break_out) {
  for (const std::string name :
       {"</script><script>alert(1)</script>", "<!--<script>", "\"'><img src=x onerror=alert(1)>", "</style></main>",
        "a\nb\t\x01", "caf\xc3\xa9 \xe2\x80\xa8", "bad \xff\xc3", "${alert(1)} `x` \\u003c"}) {
    const std::string page = html_advice(synthetic(3, name));
    const json data = data_of(page);
    const std::string dumped = data.dump();
    EXPECT_EQ(count_of(page, "</script"), 2U) << name;
    EXPECT_EQ(count_of(page, "<script"), 2U + count_of(dumped, "<script")) << name;
    EXPECT_EQ(count_of(page, "<!--"), 0U) << name;
    EXPECT_EQ(count_of(page, "<img"), count_of(dumped, "<img")) << "outside of the data " << name;
    EXPECT_EQ(count_of(page, "</style>"), 1U) << name;
    EXPECT_NO_THROW(static_cast<void>(json(page).dump())) << "all is UTF-8";
    const std::string kept = json::parse(json(name + "0").dump(-1, ' ', false, json::error_handler_t::replace));
    EXPECT_EQ(name_of(data, 0), kept);
  }
}

TEST(advise_page_names, are_cut_between_characters) {
  std::string name;
  while (name.size() < 1000) name += "\xe2\x82\xac";
  const std::string shown = name_of(data_of(html_advice(synthetic(1, name))), 0);
  EXPECT_LT(shown.size(), 300U);
  EXPECT_EQ(shown.find("\xef\xbf\xbd"), std::string::npos) << "a character was cut in two";
  EXPECT_TRUE(shown.ends_with("\xe2\x82\xac"
                              "0"));
}

TEST_F(advise_page, empty_and_cut_traces) {
  const std::string empty = page_of(sample(0));
  EXPECT_NE(empty.find("there is nothing to advise"), std::string::npos);
  EXPECT_EQ(data_of(empty)["sites"]["all"], 0);
  const std::string trace = recorded("class");
  std::filesystem::resize_file(trace, std::filesystem::file_size(trace) - 100);
  const std::string cut = page_of("--damaged " + trace);
  EXPECT_NE(cut.find("The trace is damaged"), std::string::npos);
  const bool has_note = cut.find("may have been freed later") != cut.npos;
  EXPECT_TRUE(has_note || cut.find("Every recorded object was freed") != cut.npos);
  EXPECT_EQ(ashlar("advise " + trace + " --html " + file("none.html")), 1);
  EXPECT_FALSE(std::filesystem::exists(file("none.html"))) << "a trace that cannot be read leaves no page";
}

TEST_F(advise_page, several_traces_follow_one_another) {
  const std::string trace = recorded("churn");
  const std::string again = file("again.trace");
  std::filesystem::copy_file(trace, again);
  const json data = data_of(page_of(trace + " " + again));
  ASSERT_EQ(data["timeline"]["ends"].size(), 2U);
  EXPECT_EQ(data["timeline"]["ends"][1].get<std::int64_t>(), 2 * data["timeline"]["ends"][0].get<std::int64_t>());
}

TEST_F(advise_page, mistakes) {
  const std::string trace = sample(100);
  EXPECT_EQ(ashlar("advise " + trace + " --html " + file("no/such/folder.html")), 1);
  EXPECT_TRUE(text("err").starts_with("ashlar advise: " + file("no/such/folder.html") + ": ")) << text("err");
  EXPECT_EQ(ashlar("advise " + trace + " --html " + trace), 1);
  EXPECT_NE(text("err").find("is the trace itself: nothing was written"), std::string::npos) << text("err");
  EXPECT_EQ(ashlar("advise " + trace + " --html /dev/full"), 1);
  EXPECT_NE(text("err").find("/dev/full: "), std::string::npos) << text("err");
  EXPECT_EQ(ashlar_test::run_shell(ASHLAR_COMMAND " advise " + trace + " 2> " + file("err") + " > /dev/full"), 1);
  EXPECT_EQ(text("err"), "ashlar advise: standard output: No space left on device\n");
  EXPECT_EQ(ashlar("advise " + trace + " --html -"), 0);
  EXPECT_TRUE(text("out").starts_with("<!DOCTYPE html>")) << "nothing but the page";
}

TEST_F(advise_look, fits_1200_pixels_and_reacts) {
  const json seen = look(page_of(recorded("tables")), R"js(
    seen.width = document.documentElement.scrollWidth;
    seen.ready = document.documentElement.dataset.ready;
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
    seen.moment = byId("moment").textContent;
    seen.after = document.documentElement.scrollWidth;)js");
  EXPECT_EQ(seen["faults"], json::array());
  EXPECT_EQ(seen["ready"], "yes");
  EXPECT_LE(seen["width"].get<int>(), 1200);
  EXPECT_LE(seen["after"].get<int>(), 1200);
  EXPECT_GT(seen["layers"].get<int>(), 1);
  EXPECT_GT(seen["rows"].get<int>(), 0);
  EXPECT_EQ(seen["compared"], "grown");
  EXPECT_EQ(seen["undecided"], "Choose another time to compare with.");
  EXPECT_NE(seen["status"].get<std::string>().find(" from 0 to "), std::string::npos) << seen["status"];
  EXPECT_EQ(seen["balance"], 0) << "what has grown less what has shrunk";
  for (const char* measure : {"live", "live inverted", "bytes", "objects inverted", "never"})
    EXPECT_GT(seen["frames"][measure].get<int>(), 2) << measure;
  EXPECT_GT(seen["zoomed"].get<int>(), 0);
  EXPECT_EQ(seen["details"], 1);
  EXPECT_EQ(seen["found"], 0);
  EXPECT_EQ(seen["sorted"], true);
  EXPECT_TRUE(seen["moment"].get<std::string>().starts_with("At 0: ")) << seen["moment"];
}

TEST_F(advise_look, hostile_names_are_text) {
  for (const std::string name : {"<img src=x onerror=alert(1)></script><b id=broken>", "${x}`\\\"'\n<!--"}) {
    const json seen = look(html_advice(synthetic(40, name)), R"js(
      seen.images = document.images.length;
      seen.broken = document.getElementById("broken") !== null;
      seen.name = document.querySelector(".site .name").textContent;
      document.querySelector(".site-row").click();
      drawFlame();
      seen.width = document.documentElement.scrollWidth;)js");
    EXPECT_EQ(seen["faults"], json::array());
    EXPECT_EQ(seen["images"], 0);
    EXPECT_EQ(seen["broken"], false);
    EXPECT_EQ(seen["name"], name + "0");
    EXPECT_LE(seen["width"].get<int>(), 1200);
  }
}

TEST_F(advise_look, long_names_and_many_sites_and_none_fit) {
  const char* const script = "seen.width = document.documentElement.scrollWidth;"
                             "seen.ready = document.documentElement.dataset.ready;";
  for (const std::string& page :
       {html_advice(synthetic(20'000, std::string(300, 'n'))), html_advice(synthetic(0, "p")), page_of(sample(0))}) {
    const json seen = look(page, script);
    EXPECT_EQ(seen["faults"], json::array());
    EXPECT_EQ(seen["ready"], "yes");
    EXPECT_LE(seen["width"].get<int>(), 1200);
  }
}

}  // namespace
