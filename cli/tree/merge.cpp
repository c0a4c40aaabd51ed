// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds up the summaries of several traces. Each process has addresses of its own: those of trace k are moved by k times
// 2^48, beyond which no address of a program lies, so that one table of stacks holds all.
#include "cli/tree/merge.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include <ashlar/study/summariser.hpp>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr unsigned address_bits = 48;
/// The reader keeps addresses from 2^62 on for moved modules.
constexpr std::size_t most_merged = std::size_t{1} << (62 - address_bits);

class merger {
public:
  merger(process_tree tree, symboliser& names) : tree_(std::move(tree)), symbols_(names) {}

  void add(const tree_process& p) {
    trace_input input(tree_.path_of(p), true);
    const study::trace_summary more = study::summarise(input);
    add_stacks(input);
    add_summary(more);
    add_tables(more, input.names());
    add_facts(input);
    ++count_;
  }

  [[nodiscard]] report_data finish(const std::string& title, const std::string& program_file) {
    report_data data = make_report({tree_.directory, title, program_file, warning_, info_, modules_, stacks_, names_},
                                   std::move(sum_), symbols_);
    data.own.reset();  // both peaks may be of different processes
    return data;
  }

private:
  /// Names are looked up among the modules of one trace.
  void add_stacks(const trace_input& input) {
    const std::uint64_t moved = std::uint64_t{count_} << address_bits;
    std::vector<trace::mapped_module> modules = input.modules();
    for (trace::mapped_module& m : modules) m.begin += moved, m.end += moved, m.bias += moved;
    trace::stack_table own;
    first_stack_ = stacks_.size();
    for (std::uint32_t id = 1; id <= input.stacks().size(); ++id) {
      std::vector<std::uint64_t> frames(input.stacks()[id].begin(), input.stacks()[id].end());
      for (std::uint64_t& frame : frames) frame += moved;
      own.add(frames);
      stacks_.add(frames);
    }
    symbols_.look_up(own, modules);
    modules_.insert(modules_.end(), modules.begin(), modules.end());
  }

  void add_summary(const study::trace_summary& more) {
    for (std::size_t i = 0; i < more.operations.size(); ++i) sum_.operations[i] += more.operations[i];
    sum_.duration_ns = std::max(sum_.duration_ns, more.duration_ns);
    sum_.allocated += more.allocated;
    sum_.live += more.live;
    if (more.peak.bytes >= sum_.peak.bytes) {
      sum_.peak = more.peak;
      sum_.peak_ns = more.peak_ns;
      sum_.live_bytes = more.live_bytes;
    }
    sum_.failed += more.failed;
    sum_.frees += more.frees;
    sum_.unknown += more.unknown;
    sum_.cross_thread += more.cross_thread;
    sum_.sizes.merge(more.sizes);
    sum_.lifetimes_ns.merge(more.lifetimes_ns);
    sum_.lifetimes_bytes.merge(more.lifetimes_bytes);
  }

  void add_tables(const study::trace_summary& more, const trace::name_table& names) {
    // Numbers have gaps: a thread may have a name and no events.
    const std::uint32_t first_thread = sum_.threads.empty() ? 0 : sum_.threads.rbegin()->first + 1;
    for (const auto& [id, thread] : more.threads) {
      study::thread_summary& own = sum_.threads[first_thread + id] = thread;
      own.name = id_of(names[thread.name]);
    }
    for (const auto& [id, site] : more.sites) add_site(sum_.sites[id == 0 ? 0 : first_stack_ + id], site);
    for (const auto& [id, span] : more.spans.by_name) add_spans(sum_.spans.by_name[id_of(names[id])], span);
    sum_.spans.unmatched_ends += more.spans.unmatched_ends;
  }

  static void add_spans(study::span_summary& own, const study::span_summary& more) {
    own.durations_ns.merge(more.durations_ns);
    own.allocations += more.allocations;
    own.most_allocations = std::max(own.most_allocations, more.most_allocations);
    own.bytes += more.bytes;
    own.most_bytes = std::max(own.most_bytes, more.most_bytes);
    own.most_peak_bytes = std::max(own.most_peak_bytes, more.most_peak_bytes);
    own.unended += more.unended;
  }

  /// Returns: the id of a name in the table of all; 0 for the empty one.
  std::uint64_t id_of(std::string_view name) {
    if (name.empty()) return 0;
    const auto [at, is_new] = name_ids_.try_emplace(std::string(name), 0);
    if (is_new) at->second = names_.add(at->first);
    return at->second;
  }

  void add_facts(const trace_input& input) {
    info_.file_bytes += input.info().file_bytes;
    info_.resident_peak_bytes = std::max(info_.resident_peak_bytes, input.info().resident_peak_bytes);
    info_.anonymous_peak_bytes = std::max(info_.anonymous_peak_bytes, input.info().anonymous_peak_bytes);
    if (std::string note = damage_note(input.info()); warning_.empty() && !note.empty())
      warning_ = input.path() + ": " + note;
  }

  process_tree tree_;
  symboliser& symbols_;
  study::trace_summary sum_;
  trace::trace_info info_;
  std::vector<trace::mapped_module> modules_;
  trace::stack_table stacks_;
  trace::name_table names_;
  std::map<std::string, std::uint64_t> name_ids_;
  std::string warning_;
  std::uint32_t first_stack_ = 0;  // the id before those of the trace under way
  std::size_t count_ = 0;
};

/// Returns: the group of the process that was asked for.
tree_group group_with(const process_tree& tree, const std::string& wish) {
  const tree_process& wished = choose_process(tree, wish);
  for (tree_group& g : groups_of(tree))
    if (std::ranges::find(g.processes, &wished) != g.processes.end()) return std::move(g);
  return {};
}

}  // namespace

report_data merged_report(const process_tree& tree, const std::string& wish) {
  std::vector<const tree_process*> taken;
  if (wish.empty())
    for (const tree_process& p : tree.processes) taken.push_back(&p);
  else taken = group_with(tree, wish).processes;
  if (taken.size() > most_merged) throw std::runtime_error(tree.directory + ": too many processes to merge");
  symboliser names;
  merger all(tree, names);
  for (const tree_process* p : taken) all.add(*p);
  const std::string whose = wish.empty() ? "" : " of " + taken.front()->name();
  const std::string title =
      fmt::format("{}: {}{} together", tree.directory, counted(taken.size(), "process", "processes"), whose);
  return all.finish(title, wish.empty() ? "" : taken.front()->exe);
}

}  // namespace ashlar::cli
