// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a reader finds on the page of advice: calls by name, and sites by order and search.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/html/advice_page.hpp"
#include "cli/tests/advise/page.hpp"

namespace {

using ashlar_test::advise_look;
using ashlar_test::advise_page;
using ashlar_test::data_of;
using nlohmann::json;

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

/// A page of 20 sites, of which the fifth frees nothing.
ashlar::cli::advice_page page_of_twenty() {
  ashlar::cli::advice_page page;
  for (std::uint64_t i = 0; i < 20; ++i) {
    ashlar::cli::page_site s;
    s.function = "site" + std::to_string(i);
    s.remedy = "nothing";
    s.rule = "small";
    s.allocated = {1 + i, 100 * i};
    s.median_life_ns = i == 5 ? 0 : 1000 + i;
    page.sites.push_back(s);
  }
  page.timeline.bin_ns = 1'000'000;
  page.timeline.ends = {200'000'000};
  page.timeline.bytes = std::vector<std::uint64_t>(200, 4096);
  page.calls.calls.push_back({.name = "all"});
  page.calls.changes.resize(200);
  return page;
}

TEST_F(advise_look, what_is_never_freed_lives_longest_and_a_search_counts_all_sites) {
  const json seen = look(html_advice(page_of_twenty()), R"js(
    const first = () => document.querySelector(".site-row .name").textContent;
    byId("sort-life").firstChild.click();
    seen.longest = first();
    byId("site-search").value = "site1"; byId("site-search").dispatchEvent(new Event("input"));
    seen.found = byId("table-status").textContent;
    const right = (text) => text.getBBox().x + text.getBBox().width;
    seen.right = Math.max(...[...document.querySelectorAll("#timeline text")].map(right));)js");
  EXPECT_EQ(seen["faults"], json::array());
  EXPECT_EQ(seen["longest"], "site5");
  EXPECT_EQ(seen["found"], "11 of 20 sites.");
  EXPECT_LE(seen["right"].get<double>(), 1120) << "the last time is cut";
}

}  // namespace
