// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to measure: spends steps of processor time, or allocates, prints, and ends as it is told; on demand it
// behaves otherwise under a preload.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

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

/// Blocks of many sizes, freed out of order.
std::size_t allocate(int count) {
  std::vector<char*> blocks(64);
  std::size_t sum = 0;
  for (int i = 0; i < count; ++i) {
    char*& block = blocks[static_cast<std::size_t>(i * 37 % 64)];
    std::free(block);
    const auto size = static_cast<std::size_t>(16 + i * 131 % 700);
    block = static_cast<char*>(std::malloc(size));
    std::memset(block, i & 0x7f, size);
    sum += static_cast<std::size_t>(block[size / 2]);
  }
  for (char* block : blocks) std::free(block);
  return sum;
}

bool is_preloaded() {
  const char* const libraries = std::getenv("LD_PRELOAD");
  return libraries != nullptr && *libraries != '\0';
}

}  // namespace

/// verify_victim spans USUAL RARE [NAME], or allocate|prints|exits|fails, or verify_victim STEPS [TEXT [STATUS]]: TEXT
/// "input" copies standard input, "time" prints what differs each time, "file" copies the file STATUS. A negative
/// status is a signal.
int main(int argc, char** argv) {
  if (argc > 3 && std::string(argv[1]) == "spans")
    return answer_requests(std::atol(argv[2]), std::atol(argv[3]), argc > 4 ? argv[4] : "request");
  const std::string way = argc > 1 ? argv[1] : "1";
  if (way == "allocate") return std::printf("%zu\n", allocate(50000)), 0;
  if (way == "prints") return std::puts(is_preloaded() ? "preloaded" : "alone"), 0;
  if (way == "exits") return is_preloaded() ? std::fputs("no such luck\n", stderr), 3 : 0;
  if (way == "fails") return 7;
  spend(std::atol(way.c_str()));
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
