// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the C++ blocks of the documentation: host <once | threads | forks | exit | library> [their library]
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>

#include <dlfcn.h>

#include "tests/docs_examples/block.hpp"
#include "tests/support/child.hpp"

namespace {

constexpr int rounds = 5;

void expect(bool condition, const documented_block& block, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s: not so: %s\n", block.where, what);
  std::_Exit(1);
}

void run(const documented_block& block) { expect(block.run() == 0, block, "it returns 0"); }

std::span<const documented_block> blocks_in(void* library) {
  const auto* const blocks = static_cast<const documented_block*>(::dlsym(library, "documented_blocks"));
  const auto* const count = static_cast<const std::size_t*>(::dlsym(library, "documented_count"));
  if (blocks == nullptr || count == nullptr) std::abort();
  return {blocks, *count};
}

// Two threads run a block at the same time, each with containers of its own.
void run_in_threads(const documented_block& block) {
  std::atomic<int> begun = 0;
  std::array<std::thread, 2> team;
  for (std::thread& each : team)
    each = std::thread([&] {
      for (++begun; begun != 2;) std::this_thread::yield();
      for (int round = 0; round < rounds; ++round) run(block);
    });
  for (std::thread& each : team) each.join();
}

// The child has one thread, and of the other what it had just done.
void run_in_children(const documented_block& block) {
  std::atomic<bool> stop = false;
  std::atomic<bool> has_begun = false;
  std::thread other([&] {
    do {
      run(block);
      has_begun = true;
    } while (!stop);
  });
  while (!has_begun) std::this_thread::yield();
  for (int round = 0; round < rounds; ++round)
    expect(ashlar_test::child_does([&] { return block.run() == 0; }), block, "a forked child runs it");
  stop = true;
  other.join();
}

// Made before the objects of all blocks, and so destroyed after them.
struct last_to_go {
  std::span<const documented_block> blocks;
  ~last_to_go() {
    for (const documented_block& each : blocks) run(each);
  }
};

// A thread that has run the blocks of a library outlives its close.
void run_in_library(const char* path) {
  std::atomic<int> stage = 0;
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::puts(::dlerror()), std::abort();
  const auto blocks = blocks_in(library);
  std::thread outliving([&] {
    for (const documented_block& each : blocks) run(each);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  for (const documented_block& each : blocks) run(each);
  while (stage != 1) std::this_thread::yield();
  if (::dlclose(library) != 0) std::abort();
  stage = 2;
  outliving.join();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view how = count < 2 ? "" : arguments[1];
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  if (how == "library") {
    for (int round = 0; round < 2; ++round) run_in_library(arguments[2]);
    return 0;
  }
  static last_to_go after_main;
  for (const documented_block& each : blocks_in(::dlopen(nullptr, RTLD_NOW))) {
    std::puts(each.where);
    if (how == "once") run(each);
    if (each.is_of_one_thread) continue;
    if (how == "threads") run_in_threads(each);
    if (how == "forks") run_in_children(each);
  }
  if (how == "exit") after_main.blocks = blocks_in(::dlopen(nullptr, RTLD_NOW));
  return 0;
}
