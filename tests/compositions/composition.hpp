// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any composition over memory that counts and fails, behind the interface of the laws: a scenario is compiled once.
#pragma once

#include <memory>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/subject.hpp"

namespace ashlar_test {

using composition = any_subject;

/// Over memory of the caller.
template <class R>
struct composed : conformance_defaults {
  counting_resource<>& upstream;
  R resource;

  explicit composed(counting_resource<>& below) : upstream(below), resource(below) {}
};

using composition_maker = std::unique_ptr<composition> (*)(counting_resource<>& below);

template <class R>
[[nodiscard]] std::unique_ptr<composition> make_composition(counting_resource<>& below) {
  return std::make_unique<subject_of<composed<R>>>(below);
}

}  // namespace ashlar_test
