# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reported.py <library> <program>: reports of the library that cannot be written must change nothing about the program:
neither its status, nor its output, nor, by more than seconds, its end. What is left out of a file is told in one line."""
import os
import resource
import signal
import subprocess
import sys
import tempfile

LIBRARY, PROGRAM = sys.argv[1:]
UNWRITTEN = "ashlar: no profile is written to '{}': errno {}\n"
INCOMPLETE = "ashlar: the profile '{}' is incomplete: errno {}\n"
wrong = []


def run(name, options, wanted_errors=None, errors=subprocess.PIPE, setup=None, output="done\n"):
    for way in (["exit", "signal"] if "profile" in options else ["exit"]):
        environment = os.environ | {"LD_PRELOAD": LIBRARY, "ASHLAR": options}
        try:
            done = subprocess.run([PROGRAM, "nested", way], env=environment, stdout=subprocess.PIPE, stderr=errors, text=True,
                                  timeout=30, preexec_fn=setup, check=False)
        except subprocess.TimeoutExpired:
            wrong.append(f"{name}, {way}: it does not end")
            continue
        found = done.stderr and "".join(sorted(set(done.stderr.splitlines(True))))  # a signal and the end report alike
        if done.returncode != 7 or output not in done.stdout or (wanted_errors is not None and found != wanted_errors):
            wrong.append(f"{name}, {way}: status {done.returncode}, output {done.stdout[:99]!r}, errors {found!r}")


def without_signals():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores these two
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def limited():
    without_signals()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full_pipe():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while os.write(writing, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(writing, True)
    return writing, reading


def main():
    with tempfile.TemporaryDirectory() as folder:
        for options in ("stats=exit", "stats=classes"):
            run("a closed pipe", options, errors=closed_pipe(), setup=without_signals)
            run("a full pipe", options, errors=full_pipe()[0], setup=without_signals)
            with open("/dev/full", "w", encoding="ascii") as full:
                run("a full disk", options, errors=full)
            with open(f"{folder}/errors", "w", encoding="ascii") as long:
                long.write("x" * 4096)
                long.flush()
                run("a file at the limit", options, errors=long, setup=limited)
        fifo, link, target, plain = (f"{folder}/{name}" for name in ("fifo", "link", "target", "plain"))
        profile = "stats=profile:{},profile_interval=1,profile_signal=12"
        os.mkfifo(fifo)
        run("a FIFO without a reader", profile.format(fifo), UNWRITTEN.format(fifo, 6))
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        run("a FIFO without a reader that reads", profile.format(fifo), INCOMPLETE.format(fifo, 11))
        os.close(reader)
        run("a profile on a full disk", profile.format("/dev/full"), INCOMPLETE.format("/dev/full", 28))
        run("a profile at the limit", profile.format(plain), INCOMPLETE.format(plain, 27), setup=limited)
        run("a profile in no folder", profile.format("/dev/null/x"), UNWRITTEN.format("/dev/null/x", 20))
        run("a profile and a closed pipe", profile.format(fifo), errors=closed_pipe(), setup=without_signals)
        with open(target, "w", encoding="ascii") as file:
            file.write("precious")
        os.symlink(target, link)
        run("a link", profile.format(link), UNWRITTEN.format(link, 40))
        with open(target, encoding="ascii") as file:
            if file.read() != "precious":
                wrong.append("a profile has replaced the target of a link")
        run("the output", profile.format("/dev/stdout"), "", output="MAPPED_LIBRARIES")
        run("a file", profile.format(plain), "")
    sys.exit("\n".join(wrong) or 0)


main()
