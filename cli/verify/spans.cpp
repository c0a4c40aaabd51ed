// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps the file again when the program has ended.
#include "cli/verify/spans.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "cli/span_clock/span_file.hpp"
#include "cli/verify/quantile.hpp"

namespace ashlar::cli {

namespace {

[[noreturn]] void fail_on_spans() {
  throw std::runtime_error(std::string("cannot make the file of spans: ") + std::strerror(errno));
}

struct unmap {
  void operator()(span_file* file) const noexcept { ::munmap(file, sizeof(span_file)); }
};

std::unique_ptr<span_file, unmap> map_spans(int descriptor) {
  void* const pages = ::mmap(nullptr, sizeof(span_file), PROT_READ, MAP_SHARED, descriptor, 0);
  if (pages == MAP_FAILED) fail_on_spans();
  return std::unique_ptr<span_file, unmap>(static_cast<span_file*>(pages));
}

}  // namespace

span_recording::span_recording() {
  file_.write(std::as_bytes(std::span(&span_file_magic, 1)));
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(sizeof(span_file))) != 0) fail_on_spans();
}

std::pair<std::string, std::string> span_recording::variable() const {
  return {span_file_variable, std::to_string(file_.descriptor())};
}

span_tails span_recording::tails() const {
  const auto file = map_spans(file_.descriptor());
  std::array<std::vector<double>, most_span_names> durations;
  const std::size_t used = std::min<std::size_t>(file->used.load(), most_spans);
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t entry = file->durations[i].load(std::memory_order_relaxed);
    const std::uint64_t ns = entry & ((std::uint64_t{1} << span_name_shift) - 1);
    durations[(entry >> span_name_shift) % most_span_names].push_back(static_cast<double>(ns));
  }
  span_tails all;
  for (std::size_t i = 0; i < most_span_names; ++i)
    if (!durations[i].empty()) all[file->names[i].text.data()] = nearest_rank_99(durations[i]);
  return all;
}

}  // namespace ashlar::cli
