// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line from the replay to the process that replays for one allocator.
#pragma once

#include <string>

namespace ashlar::cli {

/// The allocator in the replaying process.
/// `local_heap`: one for each lane. `heap`, `tiered_heap`: one for all.
enum class replay_stand { system, null, untouched, ashlar, local_heap, heap, tiered_heap };

struct replay_task {
  replay_stand stand = replay_stand::system;
  bool latency = false;
  std::string library;  ///< Must provide malloc; empty: any malloc.
  int windows = -1;     ///< A descriptor, inherited; none: only the library is checked.
  int result = -1;      ///< A descriptor, inherited.
};

inline constexpr const char* replay_child_flag = "--in-this-process";

/// Effects: replays, writes a `replay_result` to the file and exits without destruction. Expects: `argv` comes from
/// `replay_once` or `expect_malloc`; `argv[1]` is the flag.
[[noreturn]] void replay_in_this_process(int argc, char** argv);

}  // namespace ashlar::cli
