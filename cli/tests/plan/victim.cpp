// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with a phase for `ashlar plan` to plan: the same allocations in every frame, between the marks 1 and 2.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>

namespace {

void mark(std::uint64_t number) {
  using mark_function = void (*)(std::uint64_t);
  if (const auto f = reinterpret_cast<mark_function>(dlsym(RTLD_DEFAULT, "ashlar_record_mark"))) f(number);
}

// Hides from the compiler that no code reads the blocks.
void* volatile sink;

void* take(std::size_t bytes) {
  sink = std::malloc(bytes);
  return sink;
}

}  // namespace

int main() {
  void* const older = take(123'456);
  mark(1);
  void* const a = take(100'000);
  void* const b = take(50'000);
  std::free(a);
  void* c = take(90'000);
  std::free(older);
  std::free(b);
  c = std::realloc(c, 200'000);
  sink = c;
  void* const outlives = take(7'000);
  std::free(c);
  mark(2);
  std::free(take(300'000));
  std::free(outlives);
}
