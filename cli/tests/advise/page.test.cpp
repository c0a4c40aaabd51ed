// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pages of advice, report and replay: their data, their limits, names that would break out of them, and their look
// in a browser.
#include "cli/html/page.hpp"
#include "cli/advise/advice.hpp"
#include "cli/tests/command.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts, ashlar_test::ends;
using nlohmann::json;

constexpr const char* data_begin = "<script type=\"application/json\" id=\"data\">";

/// Returns: the data of a page, as a browser cuts it out: up to the first end of a script.
json data_of(const std::string& page) {
  const std::size_t from = page.find(data_begin) + std::string(data_begin).size();
  return json::parse(page.substr(from, page.find("</script", from) - from));
}

/// Returns: the name of a site.
std::string name_of(const json& data, std::size_t site) {
  return data["names"][data["sites"]["function"][site].get<std::size_t>()];
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class advise_page : public ashlar_test::command_test {
protected:
  std::string recorded(const std::string& mode) { return trace_of(ASHLAR_ADVISE_VICTIM " " + mode, mode + ".trace"); }

  std::string page_of(const std::string& arguments) {
    EXPECT_EQ(ashlar("advise --measure none " + arguments + " --html " + file("a.html") + " --json " + file("a.json")),
              0)
        << text("err");
    return text("a.html");
  }
};

/// The page in a browser of the machine, if it has one.
class advise_look : public advise_page {
protected:
  void SetUp() override {
    if (ashlar_test::run_shell("command -v chromium >/dev/null") != 0)
      GTEST_SKIP() << "skipped: there is no chromium, so no one looks at the page";
  }

  /// Returns: what `script` leaves in the page's element "seen", in a window of that width. Expects: the page reaches
  /// its end without a fault, and fits.
  json look(const std::string& page, const std::string& script = "", int width = 1200) {
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
        file("look.html") + " > " + file("dom") + " 2> " + file("log");
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

/// Returns: the record of a site, of those that `most` bytes are shared by.
json record_of(std::uint64_t i, const std::string& name, std::uint64_t most) {
  const std::uint64_t rank = most / (1 + i) + 1;  // few sites allocate the most
  const bool is_kept = i % 4 == 0, has_remedy = i % 5 == 0;
  const std::uint64_t objects = 1 + rank * 7919 % 1'000'000;
  json lifetimes = json::array();
  for (std::uint64_t k = 0, from = 10; k < 11; ++k, from *= 10)
    lifetimes.push_back({{"from", from}, {"objects", (i + 3 * k) % 97}});
  return {{"site", name},
          {"function", name + std::to_string(i)},
          {"file", "file" + std::to_string(i % 700) + ".cpp"},
          {"module", "program"},
          {"line", i % 3001},
          {"offset", 0},
          {"distinction", i % 3 == 0 ? name + std::to_string(i / 3) : ""},
          {"container", i % 7 == 0 ? name : ""},
          {"rule", has_remedy ? "few_sizes" : "small"},
          {"remedy", has_remedy ? "pool" : "nothing"},
          {"words", has_remedy ? "pool" : "change nothing"},
          {"gain", {{"estimate_ns", 20.0 * static_cast<double>(objects)}}},
          {"features",
           {{"allocated", {{"objects", objects}, {"bytes", 100 + rank * 104'729}}},
            {"peak", {{"objects", 1 + rank * 31 % 10'000}, {"bytes", rank * 7907}}},
            {"never_freed", {{"objects", is_kept ? rank % 999 : 0}, {"bytes", is_kept ? rank * 13 : 0}}},
            {"at_program_peak", {{"bytes", rank * 790}}},
            {"median_bytes", i * 17 % 4096},
            {"median_life_ns", i * 7919 % 1'000'000'000},
            {"temporary", rank % 1000},
            {"lifetimes_ns", lifetimes}}}};
}

json synthetic_calls(const std::string& name) {
  json calls;
  json &parents = calls["parent"] = {0}, &names = calls["name"] = {"all"};
  json &amounts = calls["amounts"] = json(6, 0), &changes = calls["changes"];
  for (std::uint32_t i = 1; i < 3000; ++i) {
    parents.push_back(i / 2);
    names.push_back(name + std::to_string(i));
    for (const std::uint32_t amount : {i, i * 999, i / 2, i * 99, i / 3, i * 9}) amounts.push_back(amount);
  }
  for (std::uint32_t bin = 0; bin < 256; ++bin) {
    json& flat = changes.emplace_back(json::array());
    for (std::uint32_t i = 0; i < 78; ++i) flat.insert(flat.end(), {1 + (bin * 78 + i) % 2999, 4097});
  }
  return calls;
}

/// A page with sites, calls and a timeline.
json synthetic(std::size_t sites, const std::string& name, std::uint64_t most = 20'000) {
  const json bins(256, 12'345), seven(64, 7);
  json page = {{"program", name},
               {"headline", name},
               {"use", name},
               {"measured", name},
               {"summary", name},
               {"effects", {{{"name", name}, {"style", "own"}, {"median", 0.9}, {"min", 0.8}, {"max", 0.95}}}},
               {"warnings", {name}},
               {"proposals", {{{"site", name}, {"advice", name}, {"gain", "ESTIMATE: 1 ms. SIMULATED: " + name}}}},
               {"noCode", {name}},
               {"facts", json::array({json::array({name, name, name})})},
               {"planNote", name},
               {"order", name},
               {"ending", {name}},
               {"pairNs", 20},
               {"plan", json::array()},
               {"sites", json::array()},
               {"details", json::array()},
               {"timeline", {{"bin", 1'000'000}, {"ends", {256'000'000}}, {"bytes", bins}, {"layers", json::array()}}},
               {"lanes",
                {{"bin", 1'000'000},
                 {"threads", {{{"name", name}, {"counts", "7777"}}}},
                 {"spans", {{{"thread", name}, {"name", name}, {"spans", 3}, {"total", 99}, {"shares", seven}}}},
                 {"note", ""}}},
               {"pins", json::array()},
               {"leftovers", json::array()}};
  for (std::uint64_t i = 0; i < 64; ++i)
    page["plan"].push_back({{"group", name.substr(0, 60)},
                            {"remedy", "a pool"},
                            {"titles", name.substr(0, 160)},
                            {"effect", ""},
                            {"stays", i % 2 == 0},
                            {"objects", i},
                            {"chunk_bytes", i << 12},
                            {"budget_bytes", i << 20}});
  for (std::uint64_t i = 0; i < sites; ++i) {
    json row = i < 500 ? page_row(record_of(i, name, most)) : page["sites"][i % 500];  // records take their time
    row["function"] = name + std::to_string(i);
    row["distinction"] = i % 3 == 0 ? name + std::to_string(i / 3) : "";
    row["line"] = i % 3001;
    for (const char* key : {"bytes", "peakBytes"}) row[key] = 100 + most / (1 + i) * 104'729;
    page["sites"].push_back(std::move(row));
    if (i < 1000)
      page["details"].push_back({name, name, name, "ESTIMATE: 1 ms", json(16, name + "c" + std::to_string(i))});
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(9, sites); ++k)
    page["timeline"]["layers"].push_back({{"site", k}, {"bytes", bins}});
  page["calls"] = synthetic_calls(name);
  if (sites == 0) return page;
  page["pins"] = {{{"site", 0}, {"kept", 1000}, {"needed", 10}, {"long", 0.9}}};
  page["leftovers"] = {{{"site", 0}, {"objects", 1}, {"bytes", 13}, {"live", "123"}, {"words", name}}};
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
  EXPECT_TRUE(has(page, "list_churn"));
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
  const json seen = look(page_of(recorded("tables")), script, 500);
  EXPECT_EQ(seen["window"], 500);
  EXPECT_GT(seen["least"], 9);
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

}  // namespace
