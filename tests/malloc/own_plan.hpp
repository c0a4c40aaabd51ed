// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan for the sites of the program itself, which starts itself again under it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <link.h>
#include <unistd.h>

#include "malloc/route/build_ids.hpp"

namespace ashlar_test {

/// The lines of a plan as the router reads them, from its modules on: the program alone.
class own_plan {
public:
  explicit own_plan(const char* head) : text_(head) { dl_iterate_phdr(note_program, this); }

  void group(const char* line) { text_ += std::string("\ng ") + line; }
  /// Effects: adds a site to the last group. `site`: a label of the program.
  void site(const char* site) { text_ += "\ns", frame(site, ""); }
  /// Effects: begins a longer chain. `step`: to the next frame.
  void chain(const char* inner, const char* step) { text_ += "\ns", frame(inner, step); }
  void frame(const char* site, const char* step) {
    char words[64];
    const auto offset = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(site) - bias_);
    std::snprintf(words, sizeof words, " 0 %llx%s", offset, step);
    text_ += words;
  }

  /// Effects: starts the program again with the plan in its environment. Returns: 1, if that fails.
  [[nodiscard]] int start_again(char** arguments) const {
    setenv("ASHLAR_ROUTE", text_.c_str(), 1);
    execv(arguments[0], arguments);
    std::perror(arguments[0]);
    return 1;
  }

private:
  static int note_program(dl_phdr_info* info, std::size_t, void* plan) {
    char digits[128];
    auto& to = *static_cast<own_plan*>(plan);
    to.bias_ = info->dlpi_addr;
    to.text_ += "\nm ";
    to.text_.append(digits, ashlar::route::put_hexadecimal(ashlar::route::build_id_of(*info), digits));
    return 1;  // the first module is the program
  }

  std::string text_;
  std::uintptr_t bias_ = 0;
};

}  // namespace ashlar_test
