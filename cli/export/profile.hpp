// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stacks of a trace with their names and allocations: all that the formats of `ashlar export` are written from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/base/trace_tables.hpp>
#include <ashlar/study/summary.hpp>

namespace ashlar::cli {

class trace_input;

/// The allocations of a call stack.
struct stack_amounts {
  study::amount allocated;
  study::amount live;             ///< At the end of the trace.
  study::amount at_peak;          ///< At the moment with the most live bytes of the program.
  study::amount most;             ///< At the first moment with the most live bytes of the stack.
  std::uint64_t temporary = 0;    ///< Freed right after: no other allocation or free of the thread between.
  std::uint64_t lifetime_ns = 0;  ///< Summed over the objects that were freed.

  /// All add up but `most`, which becomes a bound.
  stack_amounts& operator+=(const stack_amounts& more) noexcept {
    allocated += more.allocated;
    live += more.live;
    at_peak += more.at_peak;
    most += more.most;
    temporary += more.temporary;
    lifetime_ns += more.lifetime_ns;
    return *this;
  }
};

/// One of the values of a stack, which add up over stacks.
struct stack_value {
  const char* name;
  const char* unit;  ///< "count" or "bytes".
  std::uint64_t (*of)(const stack_amounts&);
};

/// The first four are the usual ones of a profile of the heap, in their usual order.
inline constexpr std::array stack_values = {
    stack_value{"alloc_objects", "count", [](const stack_amounts& s) { return s.allocated.objects; }},
    stack_value{"alloc_space", "bytes", [](const stack_amounts& s) { return s.allocated.bytes; }},
    stack_value{"inuse_objects", "count", [](const stack_amounts& s) { return s.live.objects; }},
    stack_value{"inuse_space", "bytes", [](const stack_amounts& s) { return s.live.bytes; }},
    stack_value{"peak_objects", "count", [](const stack_amounts& s) { return s.at_peak.objects; }},
    stack_value{"peak_space", "bytes", [](const stack_amounts& s) { return s.at_peak.bytes; }},
    stack_value{"temporary_objects", "count", [](const stack_amounts& s) { return s.temporary; }}};

/// The value that a viewer shows first: in a program that has ended little is in use.
inline constexpr const char* first_value = "peak_space";

/// Texts are UTF-8 without control characters.
struct profile_function {
  std::string name;    ///< With its template arguments.
  std::string file;    ///< Its path; empty if it is unknown.
  std::string module;  ///< The name of its program or library.

  friend auto operator<=>(const profile_function&, const profile_function&) = default;
};

/// A place in the source; `line` is 0 if it is unknown.
struct profile_call {
  std::uint32_t function = 0;
  int line = 0;

  friend auto operator<=>(const profile_call&, const profile_call&) = default;
};

struct profile_frame {
  std::uint64_t address = 0;        ///< In the call, in the recorded program.
  std::size_t module = 0;           ///< Its number from 1; 0: none.
  std::vector<profile_call> calls;  ///< Inlined ones too, innermost first; one at least.
};

struct profile_stack {
  std::vector<std::uint32_t> ids;     ///< In the trace: one, unless it has a stack twice.
  std::vector<std::uint32_t> frames;  ///< Innermost first; one at least.
  profile_call site;                  ///< The program's request, as `ashlar report` names it.
  stack_amounts sum;
};

struct stack_profile {
  trace::trace_info info;
  std::string program;
  std::string build_id;
  std::uint64_t duration_ns = 0;
  std::uint64_t peak_ns = 0;
  std::vector<study::timeline::point> live_bytes;
  std::span<const trace::mapped_module> modules;  ///< Of the trace, which outlives this.
  std::vector<profile_function> functions;        ///< In the order of their names.
  std::vector<profile_frame> frames;
  std::vector<profile_stack> stacks;  ///< With allocations, in the order of their names from the outermost on.
  std::vector<std::string> notes;     ///< About names that are missing.
};

/// Returns: the calls of a stack, outermost first.
[[nodiscard]] std::vector<profile_call> calls_of(const stack_profile& profile, const profile_stack& stack);

/// Effects: reads all events, and looks up the names of functions, which may take a second.
[[nodiscard]] stack_profile read_profile(trace_input& input);

}  // namespace ashlar::cli
