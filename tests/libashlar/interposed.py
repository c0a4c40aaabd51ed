# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interposed.py <compiler> <library> <program>: runs the program on a preloaded library, behind another one that stands in
front of each function that the library imports. It allocates in each call before it goes on to the real function, as
libraries do that change the clock or watch the memory of a process. A call made under a lock of the malloc then hangs,
or is reported as misuse.

Left out are data, functions that the process has not, and those of LEFT_OUT. x86-64 alone."""
import os
import pathlib
import subprocess
import sys
import tempfile

IN_FRONT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char* const names[] = {%(names)s};
static const char* const versions[] = {%(versions)s};
enum { count = sizeof names / sizeof *names };
static void* real[count];
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread unsigned turn __attribute__((tls_model("initial-exec")));

static void find_all(void) {
  for (int i = 0; i < count; ++i) {
    real[i] = dlvsym(RTLD_NEXT, names[i], versions[i]);
    if (real[i] == NULL) __builtin_trap();
  }
}
static void allocate(void) {
  const int error = errno;
  void* volatile small = malloc(24 + turn %% 64 * 16);
  void* volatile large = malloc(turn++ %% 64 == 0 ? 300000 : 3000);
  free(small);
  free(large);
  errno = error;
}
void* before(unsigned long number) {
  if (inside++ == 0) {
    if (real[count - 1] == NULL) find_all();
    allocate();
  }
  --inside;
  return real[number];
}
__asm__(".text\\nenter:\\n push %%rax\\n push %%rdi\\n push %%rsi\\n push %%rdx\\n push %%rcx\\n push %%r8\\n push %%r9\\n"
        " push %%r10\\n push %%r11\\n sub $128, %%rsp\\n"
        " movups %%xmm0, (%%rsp)\\n movups %%xmm1, 16(%%rsp)\\n movups %%xmm2, 32(%%rsp)\\n movups %%xmm3, 48(%%rsp)\\n"
        " movups %%xmm4, 64(%%rsp)\\n movups %%xmm5, 80(%%rsp)\\n movups %%xmm6, 96(%%rsp)\\n movups %%xmm7, 112(%%rsp)\\n"
        " mov %%r11, %%rdi\\n call before\\n mov %%rax, %%r11\\n"
        " movups (%%rsp), %%xmm0\\n movups 16(%%rsp), %%xmm1\\n movups 32(%%rsp), %%xmm2\\n movups 48(%%rsp), %%xmm3\\n"
        " movups 64(%%rsp), %%xmm4\\n movups 80(%%rsp), %%xmm5\\n movups 96(%%rsp), %%xmm6\\n movups 112(%%rsp), %%xmm7\\n"
        " add $136, %%rsp\\n pop %%r10\\n pop %%r9\\n pop %%r8\\n pop %%rcx\\n pop %%rdx\\n pop %%rsi\\n pop %%rdi\\n"
        " pop %%rax\\n jmp *%%r11\\n");
"""
STUB = '__asm__(".globl {0}\\n.type {0},@function\\n{0}:\\n mov ${1}, %r11d\\n jmp enter\\n");\n'
# Any assignment may be a call of these, so no malloc serves versions that allocate. The first call looks up by the last.
LEFT_OUT = set("memcpy memmove memset memcmp bcmp memchr strlen strncmp __memcpy_chk __memmove_chk __memset_chk".split()
               + ["dlvsym"])


def symbols(file, which):
    """Yields (type, name, version) of the dynamic symbols of a file."""
    listing = subprocess.run(["nm", "-D", which, file], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        *_, kind, name = line.split()
        name, _, version = name.partition("@")
        yield kind, name, version.lstrip("@")


def functions_of_process(program):
    """Returns {name: versions} of the functions that the libraries of the program define."""
    found = {}
    listing = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for file in [word for word in listing.split() if word.startswith("/")]:
        for kind, name, version in symbols(file, "--defined-only"):
            if kind in "TWi" and version:
                found.setdefault(name, []).append(version)
    return found


def build(compiler, library, program, folder):
    defined = functions_of_process(program)
    wanted = {}
    for _, name, version in symbols(library, "--undefined-only"):
        versions = defined.get(name, [])
        if versions and name not in LEFT_OUT:
            wanted[name] = version if version in versions else versions[-1]
    print(f"in front of {len(wanted)} functions: {' '.join(wanted)}")
    source = pathlib.Path(folder, "front.c")
    quoted = [", ".join(f'"{word}"' for word in words) for words in (wanted.keys(), wanted.values())]
    source.write_text(IN_FRONT % {"names": quoted[0], "versions": quoted[1]}
                      + "".join(STUB.format(name, number) for number, name in enumerate(wanted)))
    front = str(pathlib.Path(folder, "front.so"))
    subprocess.run([compiler, "-O1", "-fno-builtin", "-fPIC", "-shared", "-o", front, source], check=True)
    return front


def main():
    compiler, library, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        front = build(compiler, library, program, folder)
        options = f"stats=exit,stats=max,stats=profile:{folder}/%p.heap,profile_interval=4k,profile_signal=12,max=1g,sample=1/50"
        environment = os.environ | {"LD_PRELOAD": f"{front}:{library}", "ASHLAR": options, "ASHLAR_ROUTE": "route 1",
                                    "ASHLAR_RECORD_FILE": f"{folder}/%p.trace", "ASHLAR_RECORD_STACKS": "8"}
        try:
            done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            sys.exit("it hangs: a call of the system under a lock")
        if done.returncode != 0 or done.stdout != "ended well\n":
            sys.exit(f"ended with {done.returncode}: {done.stdout}{done.stderr}")


main()
