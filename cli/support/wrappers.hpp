// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's own wrappers of the allocator, as xmalloc is one: their callers are the call sites that a developer
// means.
#pragma once

#include <cstddef>

#include <ashlar/study/summary.hpp>

#include "cli/support/symbolise.hpp"

namespace ashlar::cli {

/// The call of a stack that a developer names, and what lies between it and the allocator.
struct program_call {
  std::size_t at = 0;                        ///< Its index; the number of calls if all are the C++ library's.
  std::vector<const source_place*> through;  ///< Wrappers and functions of the C library, innermost first.
};

/// Finds wrappers by the stacks of a recording. A function is one if
///   - the allocator is called directly, at one place, and is the only call there that ends in an allocation;
///   - callers pass it sizes: blocks of several callers differ in size;
///   - it has little machine code;
///   - its callers free the blocks, not it.
/// A name with "alloc" in it needs fewer callers and may have more code; one of many sizes and very little code needs
/// one caller. A caller of wrappers alone may be one too. Thread safety: one thread at a time.
class wrapper_finder {
public:
  /// Effects: adds a stack, innermost call first, inlined ones too, with its objects. The places outlive this.
  void add(std::span<const source_place* const> calls, const study::amount& allocated);

  /// Effects: counts objects that the call at a place frees itself.
  void add_own_frees(const source_place& place, std::uint64_t objects) { freed_[known(place).function] += objects; }

  /// Effects: decides by all stacks that were added.
  void decide();

  /// Returns: the innermost call of the program that is no wrapper's; if none is, of a wrapper or the C library.
  [[nodiscard]] program_call call_in(std::span<const source_place* const> calls);

  /// Returns: whether the place is a call in a wrapper.
  [[nodiscard]] bool contains(const source_place& place) { return is_wrapper_[known(place).function]; }

private:
  enum class call_owner { program, c_library, cpp_library, allocator };
  /// Of each place once, since stacks have many calls, of few places.
  struct known_call {
    const source_place* place = nullptr;
    std::size_t function = 0, number = 0;  // equal ones have one
    call_owner owner = call_owner::program;
  };
  struct stack {
    std::vector<const known_call*> calls;  // outermost first, up to the innermost one that may be a wrapper
    study::amount allocated;
    bool is_direct = true;  // no function of the C++ library or the C library was passed over
  };
  struct evidence {
    const source_place* place = nullptr;  // one of them
    std::uint64_t objects = 0;
    std::set<std::size_t> calls;    // of the allocator or a wrapper, in the function
    std::set<std::size_t> callers;  // by function
    std::set<std::uint64_t> sizes;  // means of the stacks
    bool is_other = false;          // it does something else too, or has no caller
  };

  const known_call& known(const source_place& place);
  void pass_over(stack& s);
  [[nodiscard]] std::map<std::size_t, evidence> collect();
  [[nodiscard]] bool is_wrapper(std::size_t function, const evidence& e);

  std::vector<stack> stacks_;
  std::unordered_map<const source_place*, known_call> known_;
  std::unordered_map<std::string, std::size_t> functions_, numbers_;
  std::vector<bool> is_wrapper_;  // by function
  std::unordered_map<std::size_t, std::uint64_t> freed_;
};

}  // namespace ashlar::cli
