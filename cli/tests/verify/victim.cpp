// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program for `ashlar verify`: spends steps of processor time, prints, and ends as it is told.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cli/preload/ashlar_record.h"

namespace {

void spend_parts(long parts) {
  volatile unsigned sum = 1;
  for (long i = 0; i < parts * 1000; ++i) sum = sum * 1664525U + 1013904223U;
}

void spend(long steps) { spend_parts(100 * steps); }

/// One request in 50 takes `rare` parts. They are many and short, so that fewer than one in 100 is interrupted.
int answer_requests(long usual, long rare, const char* name) {
  for (int i = 0; i < 5000; ++i) {
    ashlar_span_begin(name);
    spend_parts(i % 50 == 7 ? rare : usual);
    ashlar_span_end();
  }
  return 0;
}

}  // namespace

/// verify_victim spans USUAL RARE [NAME], or verify_victim STEPS [TEXT [STATUS]]: TEXT "input" copies standard input,
/// "time" prints what differs each time, "file" copies the file STATUS. A negative status is a signal.
int main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == "spans")
    return answer_requests(std::atol(argv[2]), std::atol(argv[3]), argc > 4 ? argv[4] : "request");
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
