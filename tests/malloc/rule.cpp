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

}  // namespace

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
#if !defined(ASHLAR_STATIC)
  const char* const library = std::getenv("LD_PRELOAD");
  if (library == nullptr || *library == '\0') return;
  Dl_info info = {};
  expect(::dladdr(::dlsym(RTLD_DEFAULT, "malloc"), &info) != 0, "no library has malloc");
  expect(std::strcmp(info.dli_fname, library) == 0, "malloc is not that of the preloaded library");
#endif
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

void fill(void* block, std::size_t bytes, std::uint64_t seed) {
  auto* at = static_cast<unsigned char*>(block);
  for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(seed, done);
    std::memcpy(at + done, &word, std::min(bytes - done, sizeof word));
  }
}

bool is_filled(const void* block, std::size_t bytes, std::uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(block);
  for (std::size_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(seed, done);
    if (std::memcmp(at + done, &word, std::min(bytes - done, sizeof word)) != 0) return false;
  }
  return true;
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
