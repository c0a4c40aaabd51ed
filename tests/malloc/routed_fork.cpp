// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fork between a change of the calls that a group takes and the revision of the filter, by a thread that the child
// lacks: the child revises it. The router is part of the program, and started without a plan the program starts itself
// again under one of its own.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tests/routes/site.hpp"
#include "malloc/route/group.hpp"
#include "malloc/route/sites.hpp"
#include "tests/malloc/own_plan.hpp"

ROUTE_SITE(pool_malloc, malloc @PLT, 8);

namespace {

using namespace ashlar::route;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("broken: %s\n", what);
  std::exit(1);
}

bool passes_filter() { return may_be_site(pool_malloc_site); }

// A fork of a process that never had another thread leaves everything as it is.
void have_another_thread() {
  pthread_t other{};
  const auto nothing = [](void*) -> void* { return nullptr; };
  expect(pthread_create(&other, nullptr, nothing, nullptr) == 0 && pthread_join(other, nullptr) == 0, "a thread");
}

bool passes_filter_of_child() {
  const pid_t child = fork();
  if (child == 0) _exit(passes_filter() ? 1 : 0);
  int status = -1;
  expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status), "a child that ends");
  return WEXITSTATUS(status) != 0;
}

}  // namespace

int main(int, char** arguments) {
  if (std::getenv("ASHLAR_ROUTE") == nullptr) {
    ashlar_test::own_plan plan("route 1");
    plan.group("pool 80 4096 0 cells");
    plan.site(pool_malloc_site);
    return plan.start_again(arguments);
  }
  have_another_thread();
  expect(passes_filter(), "calls at the site are looked up");
  group& cells = range.groups[0];
  for (int i = 0; i != 1000 && !cells.is_given_up(); ++i) static_cast<void>(pool_malloc(16));
  expect(cells.is_given_up(), "most of each cell is of no use, and the group is given up");

  expect(cells.leaves_calls() && passes_filter(), "calls leave, and the filter does not know");
  expect(!passes_filter_of_child(), "the child's filter has no calls of the group");
  revise_filter();
  expect(!passes_filter(), "nor has the one of the parent, once it is revised");

  int arrivals = 1;
  while (arrivals != 10'000 && !cells.counts_arrival()) ++arrivals;
  expect(cells.takes_calls() && !passes_filter(), "calls are wanted again, and the filter does not know");
  expect(passes_filter_of_child(), "the child's filter has calls of the group");
  std::puts("done");
  return 0;
}
