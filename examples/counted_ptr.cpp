// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A smart pointer to objects without a counter: it takes the counter from a pool, four bytes each.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/face/counted_pool.hpp>

namespace {

// Two words: the object, and the counter. `ref_ptr` needs one word only, but takes objects of a pool only.
template <class T, class Counters = ashlar::process_counted_pool<>>
class counted_ptr {
public:
  using counter_type = typename Counters::counter_type;

  counted_ptr() = default;
  explicit counted_ptr(T* object) : object_(object), owners_(object != nullptr ? Counters::make() : nullptr) {}
  counted_ptr(const counted_ptr& other) noexcept : counted_ptr(other, other.object_) {}
  counted_ptr(counted_ptr&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), owners_(std::exchange(other.owners_, nullptr)) {}
  // Shares the owner's object, and points to a part of it.
  template <class Owner>
  counted_ptr(const counted_ptr<Owner, Counters>& owner, T* part) noexcept : object_(part), owners_(owner.owners_) {
    if (owners_ != nullptr) owners_->add();
  }
  counted_ptr& operator=(counted_ptr other) noexcept {
    std::swap(object_, other.object_);
    std::swap(owners_, other.owners_);
    return *this;
  }
  ~counted_ptr() {
    if (owners_ != nullptr && Counters::drop(owners_)) delete object_;
  }

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  [[nodiscard]] std::uint32_t use_count() const noexcept { return owners_ != nullptr ? owners_->owners() : 0; }

private:
  template <class, class>
  friend class counted_ptr;

  T* object_ = nullptr;
  counter_type* owners_ = nullptr;
};

struct price {
  double value;
};

std::size_t counters_live() {
  return ashlar::process_counted_pool<>::with_pool([](auto& pool) { return pool.live(); });
}

}  // namespace

int main() {
  constexpr std::size_t count = 100'000;
  std::vector<counted_ptr<price>> prices;
  for (std::size_t i = 0; i < count; ++i) prices.emplace_back(new price{static_cast<double>(i)});
  std::printf("%zu objects, %zu counters of %zu bytes\n", prices.size(), counters_live(),
              sizeof(ashlar::process_counted_pool<>::counter_type));

  // Another thread shares them for a while, and is the last owner of some.
  std::thread reader([copies = prices] {
    double sum = 0;
    for (const auto& each : copies) sum += each->value;
    std::printf("the reader's sum is %.0f\n", sum);
  });
  const counted_ptr<price> kept = prices[7];
  prices.clear();
  reader.join();
  std::printf("kept %.0f, of which there is %u owner; %zu counter is live\n", kept->value, kept.use_count(),
              counters_live());
  return counters_live() == 1 ? 0 : 1;
}
