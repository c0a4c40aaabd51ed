// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distinguishes the user time of a program's own code from the time of its malloc, by samples of the program counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

namespace ashlar::cli {

/// Samples of user mode.
struct code_samples {
  std::uint64_t own = 0;    ///< In the program and its libraries.
  std::uint64_t calls = 0;  ///< In libc, the loader, or the preloaded library.

  [[nodiscard]] double own_share() const noexcept {
    return own == 0 ? 0 : static_cast<double>(own) / static_cast<double>(own + calls);
  }
};

/// Samples every program that this process starts, from its exec on, by the kernel's clock. No counters of the
/// processor are needed, but the permission for `perf_event_open`. The samples of one run fit into the buffers, or
/// there are none.
class code_sampler {
public:
  /// Takes a sample after each `period_ns` of processor time.
  explicit code_sampler(std::uint64_t period_ns);
  code_sampler(const code_sampler&) = delete;
  code_sampler& operator=(const code_sampler&) = delete;
  ~code_sampler();

  /// Returns: the samples so far; none if the kernel does not permit them, or some were lost.
  [[nodiscard]] std::optional<code_samples> samples(const std::string& library) const;

private:
  /// The events of one processor.
  struct buffer {
    int descriptor = -1;
    void* pages = nullptr;
  };

  std::vector<buffer> buffers_;
  bool permitted_ = true;
};

}  // namespace ashlar::cli
