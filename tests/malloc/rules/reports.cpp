// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of <malloc.h> that report and tune.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

constexpr std::size_t count = 20'000;
constexpr std::size_t bytes = 1000;
void* blocks[count];

void allocate() {
  for (void*& p : blocks) fill(p = std::malloc(bytes), bytes, 6);
}

void expect_unchanged_and_free() {
  for (void* p : blocks) {
    expect(is_filled(p, bytes, 6), "a report changed a block");
    std::free(p);
  }
}

std::size_t in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// glibc's manual: uordblks and hblkhd are the bytes of blocks in use.
RULE(reports, mallinfo2_counts) {
  const std::size_t before = in_use();
  allocate();
  const std::size_t during = in_use();
  expect(during >= before + count * bytes, "mallinfo2 misses blocks", during - before);
  expect(during <= before + 2 * count * bytes, "mallinfo2 counts too much", during - before);
  expect_unchanged_and_free();
  expect(in_use() < before + count * bytes / 2, "mallinfo2 still counts what is free", in_use());
}

RULE(reports, mallinfo2_counts_huge_blocks) {
  const std::size_t before = in_use();
  void* const p = std::malloc(std::size_t{50} << 20);
  expect(in_use() >= before + (std::size_t{50} << 20), "mallinfo2 misses a huge block", in_use() - before);
  std::free(p);
  expect(in_use() < before + (std::size_t{25} << 20), "mallinfo2 still counts a huge block", in_use());
}

RULE(reports, trim_keeps_blocks) {
  allocate();
  for (std::size_t i = 0; i < count; i += 2) std::free(blocks[i]);
  const int result = ::malloc_trim(0);
  expect(result == 0 || result == 1, "malloc_trim", static_cast<std::size_t>(result));
  for (std::size_t i = 0; i < count; i += 2) fill(blocks[i] = std::malloc(bytes), bytes, 6);
  ::malloc_trim(std::size_t{1} << 20);
  expect_unchanged_and_free();
  ::malloc_trim(0);
}

RULE(reports, trim_in_threads) {
  in_threads(4, [](unsigned) {
    random_numbers random{8};
    void* mine[100] = {};
    for (int round = 0; round < 3000; ++round) {
      void*& p = mine[random.below(std::size(mine))];
      std::free(p);
      fill(p = std::malloc(3000), 3000, 1);
      if (round % 100 == 0) ::malloc_trim(0);
    }
    for (void* p : mine) {
      expect(p == nullptr || is_filled(p, 3000, 1), "malloc_trim changed a block");
      std::free(p);
    }
  });
}

RULE(reports, info_is_xml) {
  allocate();
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const stream = ::open_memstream(&text, &length);
  expect(::malloc_info(0, stream) == 0, "malloc_info failed");
  std::fclose(stream);
  expect(std::strncmp(text, "<malloc", 7) == 0 && std::strstr(text, "</malloc>") != nullptr, "malloc_info: no XML");
  std::free(text);
  expect(::malloc_info(1, stdout) != 0, "malloc_info accepts options");
  expect_unchanged_and_free();
}

RULE(reports, stats_and_options) {
  allocate();
  const int saved = ::dup(2);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, 2);
  ::malloc_stats();
  ::dup2(saved, 2);
  ::close(nowhere);
  for (const int option : {M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX, M_CHECK_ACTION})
    ::mallopt(option, 1);
  ::mallopt(-999, 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  expect(::mallinfo().uordblks != 0, "mallinfo is empty");
#pragma GCC diagnostic pop
  expect_unchanged_and_free();
}

}  // namespace

}  // namespace malloc_rules
