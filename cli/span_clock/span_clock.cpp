// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of the recorder that ashlar_record.h and ashlar::span find, for spans alone: no allocation is seen, and
// a span costs two readings of the clock.
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#include "cli/preload/clock.hpp"
#include "cli/span_clock/span_file.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t most_depth = 64;
constexpr int patience = 1000;  // looks at a lock whose holder may have died

struct open_span {
  std::uint64_t start;
  std::size_t name;  // most_span_names: none was free
};

span_file* file = nullptr;
thread_local std::array<open_span, most_depth> open_spans;
thread_local std::size_t depth = 0;

std::uint64_t now() { return recorder::clock_ns(CLOCK_MONOTONIC); }

/// Returns: the index of the name, or of the first free place.
std::size_t find(const char* name) {
  std::size_t i = 0;
  for (; i < most_span_names && file->names[i].is_set.load(std::memory_order_acquire) != 0; ++i)
    if (std::strncmp(file->names[i].text.data(), name, file->names[i].text.size() - 1) == 0) return i;
  return i;
}

bool is_known(std::size_t i) {
  return i < most_span_names && file->names[i].is_set.load(std::memory_order_relaxed) != 0;
}

bool lock() {
  for (int i = 0; i < patience; ++i)
    if (file->naming.exchange(1, std::memory_order_acquire) == 0) return true;
  return false;
}

std::size_t find_or_add(const char* name) {
  std::size_t i = find(name);
  if (is_known(i) || i == most_span_names) return i;
  if (!lock()) return most_span_names;
  i = find(name);
  if (i < most_span_names && !is_known(i)) {
    std::strncpy(file->names[i].text.data(), name, file->names[i].text.size() - 1);
    file->names[i].is_set.store(1, std::memory_order_release);  // pairs with the load in find
  }
  file->naming.store(0, std::memory_order_release);
  return i;
}

void note(const open_span& span, std::uint64_t end) {
  if (span.name == most_span_names) return;
  const std::uint64_t place = file->used.fetch_add(1, std::memory_order_relaxed);
  if (place >= most_spans) return;
  const std::uint64_t duration = (end - span.start) & ((std::uint64_t{1} << span_name_shift) - 1);
  file->durations[place].store(std::uint64_t{span.name} << span_name_shift | duration, std::memory_order_relaxed);
}

/// Another file under the number of the variable is left alone.
__attribute__((constructor)) void open_file() {
  const char* const number = std::getenv(span_file_variable);
  if (number == nullptr) return;
  const int descriptor = std::atoi(number);
  struct stat facts{};
  std::uint64_t magic = 0;
  if (::fstat(descriptor, &facts) != 0 || facts.st_size != static_cast<off_t>(sizeof(span_file)) ||
      ::pread(descriptor, &magic, sizeof magic, 0) != sizeof magic || magic != span_file_magic)
    return;
  void* const pages = ::mmap(nullptr, sizeof(span_file), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (pages != MAP_FAILED) file = static_cast<span_file*>(pages);
}

}  // namespace

}  // namespace ashlar::cli

using namespace ashlar::cli;

extern "C" {

__attribute__((visibility("default"))) void ashlar_record_span_begin(const char* name) noexcept {
  if (file == nullptr) return;
  if (depth < most_depth) open_spans[depth] = {now(), find_or_add(name != nullptr ? name : "")};
  ++depth;
}

__attribute__((visibility("default"))) void ashlar_record_span_end() noexcept {
  if (file == nullptr || depth == 0) return;
  const std::uint64_t end = now();
  if (--depth < most_depth) note(open_spans[depth], end);
}

}  // extern "C"
