// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests a container of your own: the allocator finds that its move assignment takes memory of an unequal allocator.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>

#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/test/ledger.hpp>

// A buffer with one error.
template <class T, class Alloc>
class buffer {
  using traits = std::allocator_traits<Alloc>;

public:
  buffer(std::size_t n, const Alloc& alloc) : alloc_(alloc), data_(traits::allocate(alloc_, n)), size_(n) {}
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  buffer& operator=(buffer&& other) noexcept {
    std::swap(data_, other.data_);  // wrong if the allocators differ and do not propagate
    std::swap(size_, other.size_);
    return *this;
  }
  ~buffer() { traits::deallocate(alloc_, data_, size_); }

private:
  Alloc alloc_;
  typename traits::pointer data_;
  std::size_t size_;
};

int main() {
  namespace test = ashlar::test;
  using allocator = test::checking_allocator<int>;
  test::ledger book;
  {
    buffer<int, allocator> a(10, allocator(book));
    buffer<int, allocator> b(20, allocator(book));  // unequal to the other: new elements, not copies
    a = std::move(b);
  }
  const auto problems = book.finish();
  for (const test::problem& each : problems) std::puts(test::describe(each).c_str());
  return problems.size() == 2 && problems[0].kind == test::problem_kind::cross_free ? 0 : 1;
}
