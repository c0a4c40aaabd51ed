// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pages of advice, report and replay: their data, their limits, and names that would break out of them.
#include <regex>

#include "cli/advise/advice.hpp"
#include "cli/tests/advise/pages.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::advise_page, ashlar_test::data_of, ashlar_test::name_of, ashlar_test::synthetic;
using ashlar_test::has, ashlar_test::starts, ashlar_test::ends;
using nlohmann::json;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_F(advise_page, data_agrees_with_the_advice) {
  const std::string page = page_of(recorded("churn"));
  const json data = data_of(page), advice = json::parse(text("a.json"));
  EXPECT_EQ(data["sites"]["all"], advice["sites"].size());
  for (const auto& [name, column] : data["sites"].items()) {
    if (name != "all" && name != "estimates" && name != "remedies" && name != "words")
      EXPECT_EQ(column.size(), advice["sites"].size()) << name;
  }
  EXPECT_TRUE(has(page, "list_churn"));
  const auto& first = advice["sites"][0];
  EXPECT_EQ(data["sites"]["objects"][0], first["features"]["allocated"]["objects"]);
  const std::string rule = data["names"][data["sites"]["rule"][0].get<std::size_t>()];
  EXPECT_EQ(first["rule"], rule);
  EXPECT_EQ(data["sites"]["remedies"][rule], first["remedy"]);
  EXPECT_EQ(data["details"][0][1], first["evidence"]);
  EXPECT_EQ(data["estimateNote"], estimate_note);
  EXPECT_EQ(count_of(text("out"), "An ESTIMATE is the time of the calls alone"), 1U);
}

TEST_F(advise_page, has_the_plan_and_its_reason_if_there_is_none) {
  const std::string page = page_of(recorded("class"));
  const json advice = json::parse(text("a.json"));
  ASSERT_EQ(advice["plan"].size(), 1U);
  EXPECT_EQ(advice["plan"][0]["cell_bytes"], 48);
  EXPECT_EQ(advice["plan"][0]["stays"], true);
  EXPECT_EQ(advice["plan"][0]["trial"], nullptr);
  const json data = data_of(page), group = data["plan"][0];
  EXPECT_TRUE(starts(data["planNote"], "Memory of their own for 1 site in "));
  EXPECT_EQ(group["remedy"], "a pool of cells of 48 B");
  EXPECT_EQ(group["titles"], advice["plan"][0]["sites"][0]);
  EXPECT_EQ(group["effect"], "");
  const json without = data_of(page_of(recorded("churn")));
  EXPECT_EQ(without["planNote"], "There is none: no long-lived objects are worth memory of their own.");
  EXPECT_EQ(without["plan"], json::array());
}

/// An effect of each group, or one of all of them.
TEST(advise_page_plan, has_measured_effects_and_those_that_leave) {
  advice a;
  const auto page_of = [&a](const std::vector<site_trial>& trials) {
    json page;
    a.plan_trials = trials;
    a.plan.groups.resize(trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) a.plan.groups[i].name = "group " + std::to_string(i);
    add_plan(page, a);
    return page;
  };
  const auto effects = [](const json& page) {
    std::string all;
    for (const json& group : page["plan"]) all += group["effect"].get<std::string>() + ";";
    return all;
  };
  a.left_groups = {1};
  const site_trial gain{finding::gain, "-4.0 %", -0.04, {0}};
  const auto none = [](std::vector<std::size_t> groups) {
    return site_trial{finding::level, "level", 0, std::move(groups)};
  };
  const json two = page_of({gain, none({1})});
  EXPECT_EQ(effects(two), "-4.0 %;level;");
  EXPECT_EQ(two["plan"][0]["stays"], true);
  EXPECT_EQ(two["plan"][1]["stays"], false);
  EXPECT_FALSE(has(two["planNote"], "Measured"));
  EXPECT_EQ(effects(page_of({gain, none({1}), none({2})})), "-4.0 %;level;level;");
  EXPECT_EQ(effects(page_of({gain, none({1, 2}), none({1, 2})})), "-4.0 %;level;measured with group 1;");
  const site_trial both{finding::undecided, "both together: -1 %", -0.01, {0, 1}};
  const json whole = page_of({both, both});
  EXPECT_TRUE(ends(whole["planNote"], " Measured: both together: -1 %."));
  EXPECT_EQ(effects(whole), ";;");
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
  EXPECT_TRUE(has(data["leftovers"][0]["words"], "none is ever freed"));
  EXPECT_TRUE(starts(data["ending"][0], "When the recording ends, "));
}

TEST_F(advise_page, the_buffer_of_standard_output_does_not_grow) {
  const json data = data_of(page_of(trace_of(ASHLAR_ADVISE_ANALYSE)));
  EXPECT_FALSE(has(data["ending"].dump(), "still grew"));
  const json& left = data["leftovers"];
  const auto buffer = std::find_if(left.begin(), left.end(), [](const json& row) { return row["bytes"] == 4096; });
  ASSERT_NE(buffer, left.end());
  EXPECT_EQ((*buffer)["words"], "none is ever freed");
}

TEST_F(advise_page, calls_stand_beside_their_lines_of_source_unless_it_is_newer_than_the_program) {
  const std::string program = file("program"), code = "map[random_below(600)] = 1;  // here: churn";
  std::filesystem::copy_file(ASHLAR_ADVISE_VICTIM, program);
  const std::string trace = trace_of(program + " churn");
  const json data = data_of(page_of(trace)), chain = data["details"][0].back();
  EXPECT_EQ(data["proposals"][0]["code"], code);
  std::size_t found = 0;
  for (std::size_t i = 0; i + 1 < chain.size(); i += 2) {
    const std::string call = data["names"][chain[i].get<std::size_t>()],
                      line = data["names"][chain[i + 1].get<std::size_t>()];
    if (line != code) continue;
    ++found;
    EXPECT_TRUE(has(call, "list_churn (victim.cpp:"));
  }
  EXPECT_GT(found, 0U);
  std::filesystem::last_write_time(program, std::filesystem::file_time_type::clock::now() - std::chrono::years(20));
  EXPECT_EQ(data_of(page_of(trace))["proposals"][0]["code"], "");
}

TEST_F(advise_page, light_calls_of_a_function_are_one) {
  const json data = data_of(page_of(recorded("wide"))), calls = data["calls"];
  std::vector<std::int64_t> objects;
  for (std::size_t i = 0; i < calls["name"].size(); ++i) {
    const std::string name = data["names"][calls["name"][i].get<std::size_t>()];
    EXPECT_NE(name, "") << "smaller calls";
    if (name.ends_with("light_function<…>")) objects.push_back(calls["amounts"][6 * i]);
  }
  EXPECT_EQ(objects, std::vector<std::int64_t>{3 * 120 * 25}) << "of 3,000 return addresses";
}

TEST_F(advise_page, loads_nothing_as_a_report_and_a_replay_do) {
  const std::string trace = recorded("class");
  ASSERT_EQ(ashlar("report " + trace + " --html " + file("r.html")), 0) << text("err");
  ASSERT_EQ(ashlar("replay " + sample(5000) + " --with glibc,heap --repetitions 1 --html " + file("p.html")), 0)
      << text("err");
  EXPECT_TRUE(starts(text("p.html"), "<!DOCTYPE html>"));
  for (const char* finding : {"\"heap: ", "No gain on glibc is shown yet: "}) EXPECT_TRUE(said("p.html", finding));
  for (const std::string& page : {page_of(trace), text("r.html"), text("p.html")}) {
    for (const char* part :
         {"src=", "href=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "https:"})
      EXPECT_FALSE(has(page, part)) << part;
    EXPECT_TRUE(has(page, "default-src 'none'"));
  }
}

/// The least text of a drawing is a tick of 12 units; a figure in a window of 400 pixels is 334 wide.
TEST(advise_page_bounds, text_of_charts_is_readable_at_400_pixels) {
  EXPECT_TRUE(has(std::string(report_assets().style), "svg .tick, svg .axis { fill: var(--soft); font-size: 12px; }"));
  for (const page_assets& assets : {advice_assets(), report_assets()}) {
    const std::string script(assets.script);
    EXPECT_TRUE(has(script, "const fitting = (most) => Math.min(most, Math.max(440, innerWidth - 60));"));
    static const std::regex drawing(R"(drawingOf\(((?:fitting\([^)]*\)|[^,(])*),)"),
        fits(R"(fitting\(\d+\)|(plot\.)?width)");
    std::size_t drawings = 0;
    for (std::sregex_iterator at(script.begin(), script.end(), drawing); at != std::sregex_iterator();
         ++at, ++drawings) {
      const std::string width = (*at)[1];
      const bool is_narrow = !width.empty() && std::isdigit(width[0]) != 0 && std::stoi(width) <= 440;
      EXPECT_TRUE(is_narrow || std::regex_match(width, fits) || width == "width") << width << " units of 12 px text";
    }
    EXPECT_GT(drawings, 2U);
  }
  EXPECT_GT(12.0 * 334 / 440, 9);
}

TEST(advise_page_bounds, twenty_thousand_sites_are_two_megabytes) {
  const std::string page = html_advice(synthetic(20'000, "engine::scene::node_table::insert"));
  EXPECT_LE(page.size(), 2'000'000U);
  const json data = data_of(page);
  EXPECT_EQ(data["sites"]["all"], 20'000);
  EXPECT_EQ(data["sites"]["objects"].size(), 20'000U) << "all of them";
  EXPECT_GT(data["details"].size(), 50U);
  EXPECT_TRUE(ends(name_of(data, 19'999), "9999"));
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
  const auto measured = [](const char* name, int pairs, double ratio, const char* verdict) {
    return json{{"name", name},
                {"measures",
                 {{"cpu_ms",
                   {{"pairs", pairs},
                    {"ratio", ratio},
                    {"confidence", 0.95},
                    {"interval", {ratio - 0.01, ratio + 0.01}},
                    {"verdict", verdict}}}}}};
  };
  const json all = {{"remedies",
                     {measured("none", 0, 1, "undecided"),
                      measured("too few", 6, 0.5, "undecided"),
                      measured("unsure", 7, 0.8, "undecided"),
                      measured("gain", 20, 0.7, "gain"),
                      {{"name", "failed"}, {"failure", "died"}}}}};
  const json bars = measured_bars(all);
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_EQ(bars[0]["style"], "baseline");
  EXPECT_EQ(bars[1]["name"], "gain");
  EXPECT_EQ(bars[1]["style"], "own");
  EXPECT_EQ(bars[1]["max"], 0.71);
  EXPECT_EQ(bars[2]["name"], "unsure");
  EXPECT_EQ(bars[2]["style"], "rival");
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
  EXPECT_FALSE(has(shown, "\xef\xbf\xbd")) << "a character was cut in two";
  EXPECT_TRUE(ends(shown, "\xe2\x82\xac"
                          "0"));
}

TEST_F(advise_page, empty_and_cut_traces) {
  const std::string empty = page_of(sample(0));
  EXPECT_TRUE(has(empty, "there is nothing to advise"));
  EXPECT_EQ(data_of(empty)["sites"]["all"], 0);
  const std::string trace = recorded("class");
  std::filesystem::resize_file(trace, std::filesystem::file_size(trace) - 100);
  const std::string cut = page_of("--damaged " + trace);
  EXPECT_TRUE(has(cut, "The trace is damaged"));
  const bool has_note = cut.find("may have been freed later") != cut.npos;
  EXPECT_TRUE(has_note || cut.find("Every recorded object was freed") != cut.npos);
  EXPECT_TRUE(said("out", "The trace is damaged"));
  EXPECT_EQ(ashlar("advise --measure none " + trace + " --html " + file("none.html")), 1);
  EXPECT_TRUE(starts(text("err"), "ashlar advise: " + trace + ": "));
  EXPECT_TRUE(said("err", "--damaged"));
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
  expect_mistakes("advise",
                  {{trace + " --measure none --html " + trace, 1, trace + " is the trace itself: nothing was written"},
                   {trace + " --measure none --html /dev/full", 1, "/dev/full: "}});
  EXPECT_EQ(
      ashlar_test::run_shell(ASHLAR_COMMAND " advise --measure none " + trace + " 2> " + file("err") + " > /dev/full"),
      1);
  EXPECT_EQ(text("err"), "ashlar advise: standard output: No space left on device\n");
  EXPECT_EQ(ashlar("advise --measure none " + trace + " --html -"), 0);
  EXPECT_TRUE(starts(text("out"), "<!DOCTYPE html>")) << "nothing but the page";
}

}  // namespace
