// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of the rules.
#include "tests/malloc/rule.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace malloc_rules {
namespace {

constexpr std::size_t each_up_to = 1100;
constexpr std::size_t largest = std::size_t{16} << 20;

struct size_list {
  std::array<std::size_t, 1400> sizes{};
  std::size_t count = 0;

  constexpr size_list() {
    for (std::size_t n = 0; n <= each_up_to; ++n) sizes[count++] = n;
    for (std::size_t power = 2048; power <= largest; power *= 2)
      for (const std::size_t n : {power / 4 * 3, power})
        for (const std::size_t each : {n - 1, n, n + 1}) sizes[count++] = each;
  }
};

std::uint64_t word_of(std::uint64_t seed, std::size_t index) {
  return (seed + 1) * 0x9E37'79B9'7F4A'7C15 ^ (index + 1) * 0xD6E8'FEB8'6659'FD93;
}

constinit const rule* first = nullptr;
constinit const rule** end_of_rules = &first;

}  // namespace

rule::rule(const char* concept_and_name, void (*function)()) : name{concept_and_name}, check{function} {
  *end_of_rules = this;
  end_of_rules = &next;
}

const rule* first_rule() { return first; }

void expect(bool holds, const char* what, std::size_t of, std::source_location place) {
  if (holds) return;
  const char* const slash = std::strrchr(place.file_name(), '/');
  char text[400];
  const int length = std::snprintf(text, sizeof text, "  %s:%u: %s (of %zu)\n",
                                   slash != nullptr ? slash + 1 : place.file_name(), place.line(), what, of);
  if (length > 0 && ::write(2, text, std::min(static_cast<std::size_t>(length), sizeof text - 1)) < 0) ::_exit(2);
  ::_exit(1);
}

void expect_preloaded() {
  const char* const library = std::getenv("LD_PRELOAD");
  if (library == nullptr || *library == '\0') return;
  Dl_info info = {};
  expect(::dladdr(::dlsym(RTLD_DEFAULT, "malloc"), &info) != 0, "no library has malloc");
  expect(std::strcmp(info.dli_fname, library) == 0, "malloc is not that of the preloaded library");
}

int status_of_child(void (*run)()) {
  const pid_t child = ::fork();
  expect(child >= 0, "fork failed");
  if (child == 0) {
    run();
    std::exit(0);
  }
  int status = 0;
  expect(::waitpid(child, &status, 0) == child, "waitpid failed");
  return status;
}

void expect_good_child(void (*run)(), const char* what, std::source_location place) {
  const int status = status_of_child(run);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, what, static_cast<std::size_t>(status), place);
}

// By words, which the compiler copies itself: a call of memcpy for each would be the time of these programs.
void fill(void* block, std::size_t bytes, std::uint64_t seed) {
  auto* const at = static_cast<unsigned char*>(block);
  std::size_t done = 0;
  for (; done + sizeof(std::uint64_t) <= bytes; done += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(seed, done);
    __builtin_memcpy(at + done, &word, sizeof word);
  }
  const std::uint64_t last = word_of(seed, done);
  std::memcpy(at + done, &last, bytes - done);
}

bool is_filled(const void* block, std::size_t bytes, std::uint64_t seed) {
  const auto* const at = static_cast<const unsigned char*>(block);
  std::size_t done = 0;
  for (; done + sizeof(std::uint64_t) <= bytes; done += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, at + done, sizeof word);
    if (word != word_of(seed, done)) return false;
  }
  const std::uint64_t last = word_of(seed, done);
  return std::memcmp(at + done, &last, bytes - done) == 0;
}

bool is_zero(const void* block, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(block);
  return bytes == 0 || (at[0] == 0 && std::memcmp(at, at + 1, bytes - 1) == 0);
}

bool is_aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

[[gnu::noinline]] std::size_t hidden(std::size_t value) {
  static volatile std::size_t place;
  place = value;
  return place;
}

std::span<const std::size_t> many_sizes() {
  static constexpr size_list list;
  return {list.sizes.data(), list.count};
}

}  // namespace malloc_rules
