// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds out whether a byte is accessible, without a fault.
#pragma once

#include <array>
#include <cstddef>

#include <unistd.h>

namespace ashlar_test {

/// The system reads the byte into a pipe, and refuses to if it is inaccessible. `is_open()`: the pipe could be had.
class access_probe {
public:
  access_probe() {
    if (::pipe(ends_.data()) != 0) ends_ = {-1, -1};
  }
  access_probe(const access_probe&) = delete;
  access_probe& operator=(const access_probe&) = delete;
  ~access_probe() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }

  [[nodiscard]] bool is_open() const { return ends_[0] >= 0; }

  [[nodiscard]] bool is_accessible(const std::byte* p) const {
    std::byte seen;
    return ::write(ends_[1], p, 1) == 1 && ::read(ends_[0], &seen, 1) == 1;
  }

private:
  std::array<int, 2> ends_ = {-1, -1};
};

}  // namespace ashlar_test
