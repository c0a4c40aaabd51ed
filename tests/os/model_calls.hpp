// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A simulated operating system for os/pages: address space as a map of pages, and calls that a test lets fail.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace ashlar_test {

/// Records each mapped page and whether it is usable. A usable page counts as resident after `touch`.
/// Every call changes `errno`, as a system may. A call on a page that is not mapped is a test failure.
class model_system {
public:
  static constexpr std::size_t page = 4096;

  struct page_state {
    bool usable = false;
    bool resident = false;
  };

  std::uintptr_t next_address = 0x10000000;  ///< address of the next mapping
  std::size_t most_pages = 1'000'000;        ///< limit of pages mapped at once
  std::string calls;                         ///< the letters of all calls so far: m u p d P a l g v
  std::map<std::uintptr_t, page_state> pages;

  /// Selects the failing calls by the letter of the call and its index among all calls, from 0.
  std::function<bool(char, std::size_t)> fails = [](char, std::size_t) { return false; };

  [[nodiscard]] void* map(std::size_t bytes, bool accessible) {
    if (!enter('m')) return nullptr;
    if (bytes == 0 || pages.size() + bytes / page > most_pages) return refuse(), nullptr;
    const std::uintptr_t start = next_address;
    next_address += bytes;
    for (std::uintptr_t at = start; at < start + bytes; at += page) pages[at] = {accessible, false};
    return reinterpret_cast<void*>(start);
  }

  [[nodiscard]] bool unmap(void* p, std::size_t bytes) {
    return on_pages('u', p, bytes, [this](auto found) { pages.erase(found); });
  }
  [[nodiscard]] bool protect(void* p, std::size_t bytes, bool accessible) {
    return on_pages('p', p, bytes, [&](auto found) { found->second.usable = accessible; });
  }
  [[nodiscard]] bool discard(void* p, std::size_t bytes) {
    return on_pages('d', p, bytes, [](auto found) { found->second.resident = false; });
  }
  [[nodiscard]] bool populate(void* p, std::size_t bytes) {
    return on_pages('P', p, bytes, [](auto found) { found->second.resident = found->second.usable; });
  }
  [[nodiscard]] bool advise_huge(void* p, std::size_t bytes) {
    return on_pages('a', p, bytes, [](auto) {});
  }

  [[nodiscard]] bool lock(void* p, std::size_t bytes) {
    return on_pages('l', p, bytes, [](auto found) { found->second.resident = found->second.usable; });
  }

  /// Grows if the range behind the mapping is free; new pages have the state of the page before them.
  [[nodiscard]] bool grow(void* p, std::size_t bytes, std::size_t new_bytes) {
    if (!on_pages('g', p, bytes, [](auto) {})) return false;
    const auto start = reinterpret_cast<std::uintptr_t>(p);
    const auto next = pages.lower_bound(start + bytes);
    if (next != pages.end() && next->first < start + new_bytes) return refuse();
    for (std::uintptr_t at = start + bytes; at < start + new_bytes; at += page)
      pages[at] = {pages[start].usable, false};
    return true;
  }

  /// Unmaps the target range even if the call then fails for lack of pages, as a system does.
  [[nodiscard]] bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) {
    if (!enter('v')) return false;
    const auto start = reinterpret_cast<std::uintptr_t>(p), to = reinterpret_cast<std::uintptr_t>(place);
    for (std::uintptr_t at = to; at < to + new_bytes; at += page) pages.erase(at);
    if (pages.size() + (new_bytes - bytes) / page > most_pages) return refuse();
    for (std::uintptr_t offset = 0; offset < new_bytes; offset += page)
      pages[to + offset] = offset < bytes ? pages[start + offset] : page_state{pages[start].usable, false};
    for (std::uintptr_t offset = 0; offset < bytes; offset += page) pages.erase(start + offset);
    return true;
  }

  /// Effects: writes to all pages of a range as a program would. Expects: they are usable.
  void touch(void* p, std::size_t bytes) {
    const auto start = reinterpret_cast<std::uintptr_t>(p);
    for (std::uintptr_t at = start; at < start + bytes; at += page) {
      EXPECT_TRUE(pages.contains(at) && pages[at].usable) << "a crash";
      pages[at].resident = true;
    }
  }

  [[nodiscard]] std::size_t mapped_bytes() const { return pages.size() * page; }
  [[nodiscard]] std::size_t usable_bytes() const {
    return count([](const page_state& s) { return s.usable; });
  }
  [[nodiscard]] std::size_t resident_bytes() const {
    return count([](const page_state& s) { return s.resident; });
  }

private:
  bool enter(char letter) {
    const std::size_t number = calls.size();
    calls += letter;
    errno = EINTR;
    return !fails(letter, number) || refuse();
  }

  static bool refuse() {
    errno = ENOMEM;
    return false;
  }

  template <class F>
  bool on_pages(char letter, void* p, std::size_t bytes, F f) {
    const auto start = reinterpret_cast<std::uintptr_t>(p);
    EXPECT_EQ(start % page, 0u) << letter;
    EXPECT_TRUE(bytes != 0 && bytes % page == 0) << letter;
    if (!enter(letter)) return false;
    for (std::uintptr_t at = start; at < start + bytes; at += page) {
      const auto found = pages.find(at);
      if (found != pages.end()) f(found);
      else ADD_FAILURE() << letter << " on a page that is not mapped";
    }
    return true;
  }

  template <class F>
  std::size_t count(F f) const {
    std::size_t bytes = 0;
    for (const auto& [at, state] : pages) bytes += f(state) ? page : 0;
    return bytes;
  }
};

/// The calls of `basic_pages`, forwarded to the simulated system of the running test.
struct model_calls {
  static inline model_system* system = nullptr;

  [[nodiscard]] static std::size_t page_bytes() noexcept { return model_system::page; }
  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept { return system->map(bytes, accessible); }
  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept { return system->unmap(p, bytes); }
  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool accessible) noexcept {
    return system->protect(p, bytes, accessible);
  }
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept { return system->discard(p, bytes); }
  [[nodiscard]] static bool populate(void* p, std::size_t bytes) noexcept { return system->populate(p, bytes); }
  [[nodiscard]] static bool advise_huge(void* p, std::size_t bytes) noexcept { return system->advise_huge(p, bytes); }
  [[nodiscard]] static bool lock(void* p, std::size_t bytes) noexcept { return system->lock(p, bytes); }
  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    return system->grow(p, bytes, new_bytes);
  }
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept {
    return system->move(p, bytes, place, new_bytes);
  }
};

/// Each test has a fresh system; `errno` must stay unchanged.
class on_a_model : public ::testing::Test {
protected:
  on_a_model() {
    model_calls::system = &system_;
    errno = 12345;
  }
  ~on_a_model() override {
    EXPECT_EQ(errno, 12345);
    model_calls::system = nullptr;
  }

  void fail_only(std::size_t k) {
    system_.fails = [k](char, std::size_t number) { return number == k; };
  }
  void fail_all(char letter) {
    system_.fails = [letter](char each, std::size_t) { return each == letter; };
  }

  model_system system_;
};

}  // namespace ashlar_test
