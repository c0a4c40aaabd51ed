// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What GoogleTest lacks on Windows: death by a signal, which the exit status shows there. Included before every test.
#pragma once

#include <csignal>

#if defined(_WIN32)
namespace testing {

class KilledBySignal {
public:
  explicit KilledBySignal(int signal) noexcept : signal_(signal) {}
  // 3 is the status of std::abort.
  [[nodiscard]] bool operator()(int status) const noexcept { return signal_ == SIGABRT && status == 3; }

private:
  int signal_;
};

}  // namespace testing
#endif
