// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of a growing vector, a line for each, on the standard output.
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <ashlar/adaptor/log_sink.hpp>
#include <ashlar/adaptor/logging.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

int main() {
  using heap = ashlar::logging<ashlar::new_delete_resource, ashlar::descriptor_log>;
  heap memory(ashlar::descriptor_log(STDOUT_FILENO, "heap"));
  std::vector<int, ashlar::allocator<int, heap>> numbers(memory);
  for (int i = 0; i < 20; ++i) numbers.push_back(i);

  // Or to a function chosen at run time.
  std::string text;
  const auto append = [](std::string_view line, void* to) noexcept { static_cast<std::string*>(to)->append(line); };
  ashlar::logging<ashlar::new_delete_resource, ashlar::function_log> other(ashlar::function_log(append, &text));
  void* const p = other.allocate(24, 8);
  other.deallocate(p, 24, 8);
  return text.starts_with("allocate 24 8 = 0x") && text.ends_with(" 24 8\n") ? 0 : 1;
}
