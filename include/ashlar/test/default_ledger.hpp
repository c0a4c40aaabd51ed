// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ledger of default-constructed checking allocators.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/test/ledger.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace test {

/// During its lifetime, default-constructed `checking_allocator`s use its ledger. Scopes nest. Thread safety: one for
/// all threads; construct and destroy it while no other thread does.
class default_ledger {
public:
  explicit default_ledger(ledger& book) noexcept : before_(current().exchange(&book)) {}
  default_ledger(const default_ledger&) = delete;
  default_ledger& operator=(const default_ledger&) = delete;
  ~default_ledger() { current().store(before_); }

  /// Expects: a `default_ledger` is alive. Checked at every level: it catches a container that ignores the allocator it
  /// was given and default-constructs one.
  [[nodiscard]] static ledger& get() noexcept {
    ledger* const book = current().load();
    ASHLAR_REQUIRE(book != nullptr, "default-constructed a checking_allocator outside a default_ledger");
    return *book;
  }

private:
  [[nodiscard]] static std::atomic<ledger*>& current() noexcept {
    static constinit std::atomic<ledger*> innermost = nullptr;
    return innermost;
  }

  ledger* before_;
};

}  // namespace test
}  // namespace ASHLAR_ABI
}  // namespace ashlar
