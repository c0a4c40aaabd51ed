// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Another library's intrusive pointer to objects of a pool: two free functions, and no base class.
#include <cstdio>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

struct packet {
  int number;
};

// boost::intrusive_ptr finds these by the type of its object.
void intrusive_ptr_add_ref(packet* p) { ashlar::add_reference(p); }
void intrusive_ptr_release(packet* p) { ashlar::drop_reference(p); }

int main() {
  ashlar::intrusive_pool<packet> pool({.growth_count = 256});
  boost::intrusive_ptr<packet> theirs(pool.make(7).release(), false);  // takes the reference over
  const boost::intrusive_ptr<packet> copy = theirs;
  ashlar::add_reference(theirs.get());
  const auto ours = ashlar::ref_ptr<packet>::adopt(theirs.get());
  std::printf("packet %d has %u references of two kinds\n", copy->number, ours.use_count());

  theirs.reset();
  return pool.live() == 1 && ours.use_count() == 2 ? 0 : 1;
}
