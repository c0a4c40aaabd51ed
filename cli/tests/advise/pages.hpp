// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages of advice to test: of recorded programs, and made up of any number of sites; and their data.
#pragma once

#include "cli/html/page.hpp"
#include "cli/tests/command.hpp"

namespace ashlar_test {

using nlohmann::json;

inline constexpr const char* data_begin = "<script type=\"application/json\" id=\"data\">";

/// Returns: the data of a page, as a browser cuts it out: up to the first end of a script.
inline json data_of(const std::string& page) {
  const std::size_t from = page.find(data_begin) + std::string(data_begin).size();
  return json::parse(page.substr(from, page.find("</script", from) - from));
}

/// Returns: the name of a site.
inline std::string name_of(const json& data, std::size_t site) {
  return data["names"][data["sites"]["function"][site].get<std::size_t>()];
}

class advise_page : public command_test {
protected:
  std::string recorded(const std::string& mode) { return trace_of(ASHLAR_ADVISE_VICTIM " " + mode, mode + ".trace"); }

  std::string page_of(const std::string& arguments) {
    EXPECT_EQ(ashlar("advise --measure none " + arguments + " --html " + file("a.html") + " --json " + file("a.json")),
              0)
        << text("err");
    return text("a.html");
  }
};

/// Returns: the record of a site, of those that `most` bytes are shared by.
inline json record_of(std::uint64_t i, const std::string& name, std::uint64_t most) {
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

inline json synthetic_calls(const std::string& name) {
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
inline json synthetic(std::size_t sites, const std::string& name, std::uint64_t most = 20'000) {
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
    json row =
        i < 500 ? ashlar::cli::page_row(record_of(i, name, most)) : page["sites"][i % 500];  // records take their time
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

}  // namespace ashlar_test
