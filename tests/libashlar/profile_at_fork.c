/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile_at_fork <prefix>: signals ask for the profile, <prefix><process>, while forks hold its lock. The parent has
 * written it when fork has returned and the signal has come; the child writes none. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { rounds = 200 };
static const char* prefix;
static pthread_t forking;
static volatile int round_to_ask, delivered;
static struct sigaction of_library;

static int was_there(pid_t process) {
  char path[4096];
  snprintf(path, sizeof path, "%s%d", prefix, (int)process);
  return unlink(path) == 0;
}

static void count(int signal) {
  of_library.sa_handler(signal);
  ++delivered;
}

static void* ask(void* unused) {
  int round;
  for (round = 1; round <= rounds; ++round) {
    while (round_to_ask != round) sched_yield();
    pthread_kill(forking, SIGUSR2);
  }
  return unused;
}

static int fork_once(int round) {
  int status = 1;
  pid_t child;
  round_to_ask = round;
  child = fork();
  if (child == 0) _exit(was_there(getpid()) ? 3 : 0);
  while (delivered != round) sched_yield();
  if (!was_there(getpid())) return 1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
  return WEXITSTATUS(status);
}

int main(int count_of_arguments, char** arguments) {
  pthread_t asking;
  struct sigaction ours;
  int round, result = 0;
  if (count_of_arguments != 2 || sigaction(SIGUSR2, NULL, &of_library) != 0) return 4;
  prefix = arguments[1];
  forking = pthread_self();
  ours = of_library;
  ours.sa_handler = count;
  if (sigaction(SIGUSR2, &ours, NULL) != 0 || pthread_create(&asking, NULL, ask, NULL) != 0) return 4;
  for (round = 1; round <= rounds && result == 0; ++round) result = fork_once(round);
  if (result == 0) pthread_join(asking, NULL);
  _exit(result);
}
