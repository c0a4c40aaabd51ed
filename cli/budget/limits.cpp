// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a budget file and refuses what it does not know, since a misspelt limit would hold nothing.
#include "cli/budget/limits.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

class limits_reader {
public:
  explicit limits_reader(std::string file) : file_(std::move(file)) {}

  std::vector<limit> read(std::istream& from) {
    const json all = parse(from);
    expect(all.is_object(), "an object of spans, threads and program is expected");
    for (const auto& [key, value] : all.items()) add_section(key, value);
    expect(!limits_.empty(), "there is no limit in it");
    return std::move(limits_);
  }

private:
  [[noreturn]] void refuse(const std::string& why) const { throw std::runtime_error(file_ + ": " + why); }
  void expect(bool is_met, const std::string& why) const {
    if (!is_met) refuse(why);
  }

  [[nodiscard]] json parse(std::istream& from) const {
    try {
      return json::parse(from, json_guard(), true, true);
    } catch (const std::runtime_error& error) {
      refuse(error.what());
    } catch (const json::parse_error& error) {
      const std::string what = error.what();  // "[json.exception...] parse error at line 1, column 2: ..."
      refuse(what.substr(what.find("] ") == what.npos ? 0 : what.find("] ") + 2));
    }
  }

  void add_section(const std::string& key, const json& value) {
    if (key == "program") return add_subject(budget_subject::program, "", "program", value);
    expect(key == "spans" || key == "threads",
           "unknown part '" + key + "'" + suggestion(key, {"spans", "threads", "program"}));
    expect(value.is_object(), key + ": an object of names is expected");
    const bool are_spans = key == "spans";
    for (const auto& [name, limits] : value.items())
      add_subject(are_spans ? budget_subject::span : budget_subject::thread, name,
                  (are_spans ? "span " : "thread ") + name, limits);
  }

  void add_subject(budget_subject subject, const std::string& name, const std::string& title, const json& limits) {
    expect(limits.is_object(), title + ": an object of limits is expected");
    const std::vector<std::string>& known = figures_of(subject);
    for (const auto& [figure, most] : limits.items()) {
      expect(std::find(known.begin(), known.end(), figure) != known.end(),
             title + ": unknown figure '" + figure + "'" + suggestion(figure, known) +
                 fmt::format("; known are {}", fmt::join(known, ", ")));
      expect(most.is_number_unsigned(), title + ": " + figure + ": a whole number of at least 0 is expected");
      limits_.push_back({subject, name, figure, most.get<std::uint64_t>()});
    }
  }

  std::string file_;
  std::vector<limit> limits_;
};

}  // namespace

const std::vector<std::string>& figures_of(budget_subject subject) {
  static const std::vector<std::string> span = {"count",  "allocations", "bytes",   "peak_bytes",
                                                "p50_ns", "p99_ns",      "p99_9_ns"};
  static const std::vector<std::string> thread = {"allocations", "bytes", "peak_bytes"};
  static const std::vector<std::string> program = {"allocations", "bytes", "peak_bytes", "never_freed_bytes"};
  return subject == budget_subject::span ? span : subject == budget_subject::thread ? thread : program;
}

std::string limits_file(const std::vector<limit>& limits) {
  json all;
  for (const limit& each : limits) switch (each.subject) {
      case budget_subject::program: all["program"][each.figure] = each.most; break;
      case budget_subject::span: all["spans"][each.name][each.figure] = each.most; break;
      case budget_subject::thread: all["threads"][each.name][each.figure] = each.most; break;
    }
  try {
    return all.dump(2) + "\n";
  } catch (const json::type_error&) {
    throw std::runtime_error("the name of a span or thread is not UTF-8, and cannot stand in a file of limits");
  }
}

std::vector<limit> read_limits(std::istream& from, const std::string& file) { return limits_reader(file).read(from); }

}  // namespace ashlar::cli
