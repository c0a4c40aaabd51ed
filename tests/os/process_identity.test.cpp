// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the numbers of a process: each process has its own, also after a fork and in a PID namespace.
#include <ashlar/os/process_lock.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/child.hpp"
#include "tests/support/pid_space.hpp"

namespace {

using ashlar::detail::process_identity;

TEST(process_identity, stays_in_a_process_and_changes_in_a_fork) {
  const std::uint64_t key = process_identity::key(), space = process_identity::space();
  const std::uint32_t number = process_identity::foreign_number();
  EXPECT_NE(key, 0u);
  EXPECT_EQ(key, process_identity::key());
  EXPECT_GE(number, std::uint32_t{1} << 31);
  EXPECT_EQ(process_identity::number(), static_cast<std::uint32_t>(::getpid()));
  EXPECT_TRUE(ashlar_test::child_does([&] {
    return process_identity::key() != key && process_identity::space() == space &&
           process_identity::foreign_number() != number &&
           process_identity::number() == static_cast<std::uint32_t>(::getpid());
  }));
}

TEST(process_identity, differs_in_another_pid_namespace) {
  const std::uint64_t space = process_identity::space();
  const pid_t child = ashlar_test::fork_in_new_pid_space();
  if (child == 0) ::_exit(process_identity::number() == 1 && process_identity::space() != space ? 0 : 1);
  if (child < 0) GTEST_SKIP() << "the user may not make PID namespaces";
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
