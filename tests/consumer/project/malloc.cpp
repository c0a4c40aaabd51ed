// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program whose malloc and operator new are those of libashlar, without a word about it but for this check.
#include <cstdlib>
#include <cstring>
#include <string>

#include <ashlar_malloc.h>

namespace {

bool is_own(const void* p) { return ashlar_heap_of(p) == ashlar_heap_of_process(); }

}  // namespace

int main() {
  void* const block = std::malloc(100);
  int* const number = new int(7);
  char* const text = ::strdup("text of the C library");
  const std::string words(100, 'x');
  const bool all = is_own(block) && is_own(number) && is_own(text) && is_own(words.data()) && !is_own(&words);
  delete number;
  std::free(text);
  std::free(block);
  return all && std::strcmp(ashlar_level(), "fast") == 0 ? 0 : 1;
}
