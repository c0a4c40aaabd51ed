// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model of a two-level segregated fit heap: the addresses that it would give, without any memory.
#include "cli/plan/tlsf.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace ashlar::cli {

namespace {

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t power_of_two) {
  return (n + power_of_two - 1) & ~(power_of_two - 1);
}

}  // namespace

/// Sizes are counted in granules: the first 32 have a list each.
std::size_t tlsf_model::list_of(std::uint64_t size) noexcept {
  const std::uint64_t n = size / granule;
  if (n >> split_bits == 0) return static_cast<std::size_t>(n);
  const auto shift = static_cast<unsigned>(std::bit_width(n)) - 1 - split_bits;
  return (std::size_t{shift + 1} << split_bits) + static_cast<std::size_t>(n >> shift & ((1U << split_bits) - 1));
}

void tlsf_model::put(block_map::iterator at) {
  at->second.free = true;
  lists_[list_of(at->second.size)].push_back(at->first);
}

/// The newest block of the first list in which all blocks are large enough.
tlsf_model::block_map::iterator tlsf_model::find_free(std::uint64_t size) {
  const std::uint64_t n = size / granule;
  const auto width = static_cast<unsigned>(std::bit_width(n));
  const std::uint64_t rounding = width > split_bits + 1 ? (std::uint64_t{1} << (width - 1 - split_bits)) - 1 : 0;
  for (std::size_t l = list_of((n + rounding) * granule); l < lists_.size(); ++l)
    while (!lists_[l].empty()) {
      const auto at = blocks_.find(lists_[l].back());
      lists_[l].pop_back();
      if (at != blocks_.end() && at->second.free && list_of(at->second.size) == l) return at;
    }
  return blocks_.end();
}

/// Extends a free block at the end, or adds a block.
tlsf_model::block_map::iterator tlsf_model::grow(std::uint64_t size) {
  auto last = blocks_.empty() ? blocks_.end() : std::prev(blocks_.end());
  if (last == blocks_.end() || !last->second.free) last = blocks_.insert(blocks_.end(), {end_, {0, true}});
  last->second.size = std::max(last->second.size, size);
  end_ = last->first + last->second.size;
  return last;
}

void tlsf_model::split(block_map::iterator at, std::uint64_t size) {
  if (at->second.size == size) return;
  const auto rest = blocks_.insert(std::next(at), {at->first + size, {at->second.size - size, true}});
  at->second.size = size;
  put(rest);
}

std::uint64_t tlsf_model::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t size = std::max(2 * granule, round_up(bytes + header, granule));
  // Leaves room to cut the front off if the alignment exceeds the granule.
  const std::uint64_t wanted = alignment > granule ? size + alignment : size;
  auto at = find_free(wanted);
  if (at == blocks_.end()) at = grow(wanted);
  at->second.free = false;
  if (const std::uint64_t front = round_up(at->first, std::max(alignment, granule)) - at->first; front != 0) {
    split(at, front);
    const auto rest = std::next(at);
    put(at);
    at = rest;
    at->second.free = false;
  }
  split(at, size);
  return at->first;
}

void tlsf_model::deallocate(std::uint64_t address) {
  auto at = blocks_.find(address);
  if (const auto next = std::next(at); next != blocks_.end() && next->second.free) {
    at->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (at != blocks_.begin() && std::prev(at)->second.free) {
    const auto before = std::prev(at);
    before->second.size += at->second.size;
    blocks_.erase(at);
    at = before;
  }
  put(at);
}

}  // namespace ashlar::cli
