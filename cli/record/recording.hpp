// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recording: the program that runs in place of this one, as far as its user can see; the page by which recorded
// processes report the facts that their traces cannot contain; their memory, seen from outside while they run: the peak
// of those that are killed, and of those that give it back before their end; and the result, when the program has
// ended.
#pragma once

#include <chrono>
#include <functional>
#include <map>

#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/status.hpp"
#include "cli/record/processes.hpp"

namespace ashlar::cli {

struct record_options {
  std::string library;  ///< Preloaded; absolute.
  std::string output;   ///< The trace, absolute.
  std::string status;   ///< The id of a `record_status`; may be empty.
  unsigned stack_depth = 0;
  std::vector<std::string> program;  ///< With its arguments.
  std::uint64_t session = 0;         ///< The number of the recording.
  std::string only = {};             ///< Patterns of programs, a line for each; empty: all.
  bool has_children = true;          ///< Processes that it starts are recorded too.
  bool adopts = false;               ///< The statuses of processes whose parents have ended are wanted.
};

/// The outcome: `error` is 0 or the errno of a failed start.
struct child_result {
  int error = 0;
  int process = 0;
  int status = 0;                 ///< Exit status, or 128 + the signal that ended it.
  std::map<int, int> ended = {};  ///< Of it and of adopted processes, as `wait` tells it.
};

/// Effects: runs the program with unchanged stdin, stdout and stderr, passes on SIGTERM and SIGHUP, waits for it.
/// `look` is called meanwhile, each time after the duration that it gives; it may be null.
[[nodiscard]] child_result run_recorded(const record_options& options,
                                        const std::function<std::chrono::milliseconds()>& look = nullptr);

/// Without memory for the page, nothing is reported, and the recorded program runs unchanged.
class record_status {
public:
  /// Traces that have together `max_bytes`, if not 0, get no more.
  explicit record_status(std::uint64_t max_bytes = 0);
  record_status(const record_status&) = delete;
  record_status& operator=(const record_status&) = delete;
  ~record_status();

  /// Returns: the id by which recorded processes find the page; empty without a page.
  [[nodiscard]] std::string id() const;

  /// Returns: whether a process has reported the start of a trace.
  [[nodiscard]] bool any_trace() const noexcept;

  /// Returns: the page itself; null without one.
  [[nodiscard]] const recorder::recording_status* page() const noexcept { return page_; }

  /// A process whose last events are in no trace.
  struct unfinished {
    int process = 0;
    std::uint32_t threads = 0;  ///< That had events.
    bool is_running = false;
  };
  /// Returns: these processes, in ascending order. The recorded program itself has ended.
  [[nodiscard]] std::vector<unfinished> unfinished_processes() const;

  /// Returns: the failed writes and their reason; empty if there are none. `place`: of a directory, whose traces have
  /// other names now.
  [[nodiscard]] std::string failure(const std::string& place = "") const;

private:
  int id_ = -1;
  recorder::recording_status* page_ = nullptr;
};

/// Returns: the reason why the recorder stopped before the program; `error` is the one in a trace's header.
[[nodiscard]] std::string describe_write_error(int error);

struct recording_summary {
  std::string text;                   ///< One line: events, threads and bytes, and the other traces.
  std::uint64_t events = 0;           ///< Of the trace itself.
  bool has_trace = false;             ///< The file has bytes for a reader.
  std::vector<process_trace> others;  ///< Of processes that the recorded one has started, the largest first.
};

/// Returns: the contents of the trace at `path`, and of those beside it that are of the recording `session`; `output`
/// is its name as it was given, with "%p" or without.
[[nodiscard]] recording_summary summarise_recording(const std::string& path, const std::string& output,
                                                    std::uint64_t session);

struct recording_losses {
  std::string text;        ///< Each process and what it lacks; empty if there are none.
  bool is_untold = false;  ///< A process has ended, and not the recorded one by a signal, as its status tells.
};

/// Returns: the losses of the processes that have not finished; `path` is the path of the recorded program's trace.
[[nodiscard]] recording_losses find_losses(const std::vector<record_status::unfinished>& processes,
                                           const child_result& program, const std::string& path,
                                           const recording_summary& sum);

/// Looks every 10 ms, or so rarely that it takes a 200th of a processor; at each process whenever it is a hundredth
/// older, as it can miss no more than the last hundredth of one that is killed.
class memory_watch {
public:
  /// `page` may be null, and outlives this.
  explicit memory_watch(const recorder::recording_status* page) noexcept : page_(page) {}

  /// Effects: reads the memory of the processes that have begun and not ended. Returns: the time until the next look.
  std::chrono::milliseconds look();

  /// Effects: appends what was seen to the trace at `path`, if that has less. Expects: its process has ended.
  void append_to(const std::string& path) const;

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds least_wait{10};
  static constexpr int look_share = 200, life_share = 100;

  struct watched {
    clock::time_point since, next;
    detail::trace_io::memory_figures figures;
  };

  void look_at(const recorder::recorded_process& process, clock::time_point time);

  using identity = std::pair<std::int32_t, std::uint64_t>;  // process id and start, as after an exec the id is the same
  const recorder::recording_status* page_;
  std::map<identity, watched> seen_;
};

}  // namespace ashlar::cli
