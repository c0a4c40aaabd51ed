// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory model of the explorer: modification orders.
#include "memory.hpp"

namespace explorer {

void location::reset(std::uint64_t value, std::uint64_t identity) {
  writes_.assign(1, {.value = value, .identity = identity});
  order_.assign(1, 0);
}

bool location::is_updated(number n) const {
  const std::size_t next = at(n).place + std::size_t{1};
  return next < size() && at(in_place(next)).is_update;
}

number location::insert_after(std::size_t place, const write& added) {
  const auto made = static_cast<number>(writes_.size());
  writes_.push_back(added);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place) + 1, made);
  for (std::size_t i = place + 1; i < order_.size(); ++i) writes_[order_[i]].place = static_cast<number>(i);
  return made;
}

std::uint64_t location::fingerprint() const {
  std::uint64_t h = size();
  for (const number n : order_) h = mix(h, at(n).identity);
  return h;
}

}  // namespace explorer
