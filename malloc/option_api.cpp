// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of ashlar_malloc.h, set and read as text.
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <ashlar/base/event.hpp>
#include <ashlar/base/platform.hpp>

#include "malloc/ashlar_malloc.h"
#include "malloc/export.hpp"
#include "malloc/option_words.hpp"
#include "malloc/settings.hpp"

extern "C" {

ASHLAR_EXPORT int ashlar_option_set(const char* name, const char* value) {
  constexpr ashlar::detail::enum_table<ashlar::drop_in::word_result, int> errors = {0, ENOENT, EINVAL, ENOMEM};
  return errors[ashlar::drop_in::change_setting(name, value)];
}

ASHLAR_EXPORT int ashlar_option_get(const char* name, char* text, std::size_t bytes) {
  ashlar::detail::panic_line value;
  if (!ashlar::drop_in::write_option(ashlar::drop_in::settings(), name, value)) return ENOENT;
  const std::string_view words = value.view();
  if (words.size() >= bytes) return ERANGE;
  std::memcpy(text, words.data(), words.size());
  text[words.size()] = '\0';
  return 0;
}

}  // extern "C"
