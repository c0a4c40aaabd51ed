// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tree of processes as a table and as JSON, and the lines of its index.
#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "cli/support/output.hpp"
#include "cli/support/text.hpp"
#include "cli/tree/tree.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr std::size_t tree_name_width = 24, most_listed = 40;

json exit_json(const std::optional<int>& status) {
  if (!status) return nullptr;
  if (WIFSIGNALED(*status)) return {{"signal", WTERMSIG(*status)}};
  return {{"code", WEXITSTATUS(*status)}};
}

/// Returns: the status that `wait` would tell.
std::optional<int> status_of(const json& ended) {
  if (ended.is_null()) return std::nullopt;
  return ended.contains("signal") ? ended.at("signal").get<int>() : ended.at("code").get<int>() << 8;
}

std::string exit_text(const tree_process& p) {
  if (!p.status) return p.complete ? "" : "incomplete";
  const std::string how =
      WIFSIGNALED(*p.status) ? "signal " + std::to_string(WTERMSIG(*p.status)) : std::to_string(WEXITSTATUS(*p.status));
  return how + (p.complete ? "" : ", incomplete");
}

/// Returns: the processes of the table, by number: those with the most events, if there are many.
std::vector<const tree_process*> listed_processes(const process_tree& tree) {
  std::vector<const tree_process*> all;
  for (const tree_process& p : tree.processes) all.push_back(&p);
  std::ranges::stable_sort(all, std::greater(), &tree_process::events);
  all.resize(std::min(all.size(), most_listed));
  std::ranges::sort(all, {}, &tree_process::number);
  return all;
}

std::string process_table(const process_tree& tree) {
  text_table table({{"", side::right},
                    {"process", side::right},
                    {"parent", side::right},
                    {"program", side::left},
                    {"time", side::right},
                    {"events", side::right},
                    {"allocated", side::right},
                    {"peak", side::right},
                    {"exit", side::left}});
  for (const tree_process* p : listed_processes(tree))
    table.add({std::to_string(p->number), std::to_string(p->pid), p->ppid == 0 ? "" : std::to_string(p->ppid),
               shorten(p->name(), tree_name_width), human_time(static_cast<double>(p->end_ns - p->start_ns)),
               grouped(p->events), in_bytes(p->bytes), in_bytes(p->peak_bytes), exit_text(*p)});
  const std::size_t n = tree.processes.size();
  if (n <= most_listed) return table.str();
  return table.str() + fmt::format("and {} of fewer events; --json lists all\n",
                                   counted(n - most_listed, "more process", "more processes"));
}

std::string group_table(const std::vector<tree_group>& groups) {
  text_table table({{"program", side::left},
                    {"processes", side::right},
                    {"events", side::right},
                    {"allocated", side::right},
                    {"greatest peak", side::right}});
  for (const tree_group& g : groups)
    table.add({shorten(g.name(), tree_name_width), grouped(g.processes.size()), grouped(g.events), in_bytes(g.bytes),
               in_bytes(g.peak_bytes)});
  return table.str();
}

json process_json(const tree_process& p) {
  json value = index_json(p);
  value["number"] = p.number;
  return value;
}

json tree_group_json(const tree_group& g) {
  json numbers = json::array();
  for (const tree_process* p : g.processes) numbers.push_back(p->number);
  return {{"exe", g.exe},       {"build_id", g.build_id}, {"processes", numbers},
          {"events", g.events}, {"bytes", g.bytes},       {"peak_bytes", g.peak_bytes}};
}

}  // namespace

json index_json(const tree_process& p) {
  return {{"pid", p.pid},           {"ppid", p.ppid},         {"start_ns", p.start_ns},
          {"end_ns", p.end_ns},     {"argv0", p.argv0},       {"cmd", p.cmd},
          {"exe", p.exe},           {"build_id", p.build_id}, {"file", p.file},
          {"events", p.events},     {"bytes", p.bytes},       {"peak_bytes", p.peak_bytes},
          {"complete", p.complete}, {"lost", p.lost},         {"exit", exit_json(p.status)}};
}

std::optional<tree_process> parse_index_line(const std::string& line) try {
  const json j = json::parse(line);
  return tree_process{.pid = j.at("pid"),
                      .ppid = j.at("ppid"),
                      .start_ns = j.at("start_ns"),
                      .end_ns = std::max(j.at("end_ns").get<std::uint64_t>(), j.at("start_ns").get<std::uint64_t>()),
                      .argv0 = j.at("argv0"),
                      .cmd = j.at("cmd"),
                      .exe = j.at("exe"),
                      .build_id = j.at("build_id"),
                      .file = j.at("file"),
                      .events = j.at("events"),
                      .bytes = j.at("bytes"),
                      .peak_bytes = j.at("peak_bytes"),
                      .status = status_of(j.at("exit")),
                      .complete = j.at("complete"),
                      .lost = j.at("lost")};
} catch (const json::exception&) {
  return std::nullopt;
}

std::string largest_text(const process_tree& tree) {
  if (tree.processes.empty()) return "no trace can be read";
  const tree_group largest = groups_of(tree).front();
  return fmt::format("largest: {} ({} of {}), {} of {}", shorten(largest.name(), tree_name_width),
                     grouped(largest.processes.size()), grouped(tree.processes.size()), grouped(largest.events),
                     counted(tree.events, "event"));
}

std::string tree_text(const process_tree& tree) {
  std::string text = fmt::format("{}: {}, {}\n", tree.directory, counted(tree.processes.size(), "process", "processes"),
                                 largest_text(tree));
  text += "\n" + process_table(tree) + "\n" + group_table(groups_of(tree));
  text += "\n" + paragraph(fmt::format("Live at once in all processes: at most {}, the sum of the peaks of those whose "
                                       "times overlap. '--process N' or a name reports on one.",
                                       in_bytes(peak_of(tree))));
  return tree.notes.empty() ? text : text + "\n" + bullets(tree.notes);
}

json tree_json(const process_tree& tree) {
  json processes = json::array(), groups = json::array();
  for (const tree_process& p : tree.processes) processes.push_back(process_json(p));
  for (const tree_group& g : groups_of(tree)) groups.push_back(tree_group_json(g));
  return {{"directory", tree.directory}, {"processes", processes},      {"executables", groups},
          {"events", tree.events},       {"peak_bytes", peak_of(tree)}, {"notes", tree.notes}};
}

}  // namespace ashlar::cli
