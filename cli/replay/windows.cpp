// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes and reads the temporary file of a compiled trace.
#include "cli/replay/windows.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace ashlar::cli {

namespace {

std::size_t mapped_bytes = 0;

}  // namespace

std::byte* map_pages(std::size_t bytes) {
  void* pages = ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED)
    throw std::runtime_error(std::string("no memory for the replay itself: ") + std::strerror(errno));
  mapped_bytes += bytes;
  return static_cast<std::byte*>(pages);
}

std::size_t mapped_pages_bytes() noexcept { return mapped_bytes; }

window_writer::window_writer(temporary_file& file) : file_(&file) {
  const window_file_head room;
  file.write(std::as_bytes(std::span(&room, 1)));
}

void window_writer::operator()(const detail::replay_window& window) {
  counts_.assign(window.lane_counts.begin(), window.lane_counts.end());
  if (counts_.size() % 2 != 0) counts_.push_back(0);  // so that operations stay aligned in the reader's buffer
  const window_head head{static_cast<std::uint32_t>(counts_.size()),
                         static_cast<std::uint32_t>(window.operations.size())};
  file_->write(std::as_bytes(std::span(&head, 1)));
  file_->write(std::as_bytes(std::span(counts_)));
  file_->write(std::as_bytes(window.operations));
  largest_ = std::max<std::uint64_t>(largest_, counts_.size() * sizeof(counts_[0]) + window.operations.size_bytes());
}

void window_writer::finish(const detail::replay_counts& counts) {
  const window_file_head head{counts.operations, counts.windows, largest_, counts.slot_count, counts.lanes};
  file_->rewrite_start(std::as_bytes(std::span(&head, 1)));
}

window_reader::window_reader(int descriptor) : descriptor_(descriptor) {
  read(&head_, sizeof head_);
  windows_left_ = head_.windows;
  buffer_ = map_pages(static_cast<std::size_t>(head_.largest_window));
  const std::size_t firsts = std::size_t{head_.lanes} + 2;
  first_ = {reinterpret_cast<std::size_t*>(map_pages(firsts * sizeof(std::size_t))), firsts};
}

bool window_reader::next() {
  if (windows_left_ == 0) return false;
  --windows_left_;
  read(&window_, sizeof window_);
  const std::size_t counts_bytes = window_.lanes * sizeof(std::uint32_t);
  read(buffer_, counts_bytes + window_.operations * sizeof(detail::replay_op));
  const auto* counts = reinterpret_cast<const std::uint32_t*>(buffer_);
  std::fill(first_.begin(), first_.end(), window_.operations);
  first_[0] = 0;
  for (std::size_t lane = 0; lane < window_.lanes; ++lane) first_[lane + 1] = first_[lane] + counts[lane];
  return true;
}

std::span<const detail::replay_op> window_reader::lane(std::uint32_t lane) const noexcept {
  const auto* operations = reinterpret_cast<const detail::replay_op*>(buffer_ + window_.lanes * sizeof(std::uint32_t));
  return {operations + first_[lane], operations + first_[lane + 1]};
}

void window_reader::read(void* to, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const ssize_t n = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("the compiled trace ends early");
    at += n;
    bytes -= static_cast<std::size_t>(n);
    offset_ += static_cast<std::uint64_t>(n);
  }
}

}  // namespace ashlar::cli
