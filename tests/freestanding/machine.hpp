// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program without an operating system's help has: an end. Each program defines `run`.
#pragma once

namespace machine {

/// Effects: ends the program; 0 says that all went well.
[[noreturn]] void leave(int status) noexcept;

/// Effects: ends the program where something is not so; the status tells which of its expectations it was.
inline void expect(bool condition) noexcept {
  static int expectation = 0;
  ++expectation;
  if (!condition) leave(expectation);
}

/// Returns: how often `ashlar_write_error` was called.
int lines_written() noexcept;

}  // namespace machine

/// The program.
void run() noexcept;
