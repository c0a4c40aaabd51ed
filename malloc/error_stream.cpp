// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps the error stream, and recognises it again.
#include "malloc/error_stream.hpp"

#include <sys/stat.h>

#include <ashlar/base/platform.hpp>

#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

constexpr int least_descriptor = 200;  // above those that shells and programs number themselves

struct file_identity {
  dev_t device = 0;
  ino_t number = 0;

  [[nodiscard]] static bool get(int descriptor, file_identity& of) noexcept {
    struct stat facts;
    if (files::facts(descriptor, facts) != 0) return false;
    of = {facts.st_dev, facts.st_ino};
    return true;
  }
  [[nodiscard]] friend bool operator==(const file_identity&, const file_identity&) = default;
};

constinit int kept = -1;
constinit file_identity kept_file;

}  // namespace

void keep_error_stream() noexcept {
  if (kept >= 0 || !file_identity::get(2, kept_file)) return;
  kept = files::copy(2, least_descriptor);
  if (kept < 0) kept = files::copy(2, 3);
}

int kept_error_stream() noexcept {
  file_identity now;
  for (const int each : {kept, 2})
    if (each >= 0 && file_identity::get(each, now) && now == kept_file) return each;
  return kept_file == file_identity{} ? 2 : -1;
}

void write_to(int& descriptor, std::string_view text) noexcept {
  if (descriptor < 0) return;
  if (const int error = detail::write_quietly(descriptor, text); error != 0) descriptor = -error;
}

text_output output_to(int& descriptor) noexcept {
  return {[](const char* text, std::size_t bytes, void* to) { write_to(*static_cast<int*>(to), {text, bytes}); },
          &descriptor};
}

}  // namespace ashlar::drop_in
