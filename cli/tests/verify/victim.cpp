// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program for `ashlar verify`: spends steps of processor time, prints, and ends as it is told.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

void spend(long steps) {
  volatile unsigned sum = 1;
  for (long i = 0; i < steps * 100000; ++i) sum = sum * 1664525U + 1013904223U;
}

}  // namespace

/// verify_victim STEPS [TEXT [STATUS]]: TEXT "input" copies standard input, "time" prints what differs each time,
/// "file" copies the file STATUS. A negative status is a signal.
int main(int argc, char** argv) {
  spend(argc > 1 ? std::atol(argv[1]) : 1);
  const std::string text = argc > 2 ? argv[2] : "done";
  if (text == "input") {
    for (int c = 0; (c = std::getchar()) != EOF;) std::putchar(c);
  } else if (text == "time") {
    std::printf("%p\n", static_cast<void*>(argv));
  } else if (text == "file") {
    std::ifstream file(argv[3]);
    std::printf("%d\n", file.get());
    return 0;
  } else {
    std::puts(text.c_str());
  }
  std::fflush(stdout);
  const int status = argc > 3 ? std::atoi(argv[3]) : 0;
  if (status < 0) std::abort();
  return status;
}
