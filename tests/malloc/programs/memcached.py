# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clients of memcached at a Unix socket: sets and gets in threads; prints what is stored at the end."""
import hashlib
import socket
import sys
import threading
import time


def connect(path):
    for _ in range(1200):
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client.makefile("rwb")
        except OSError:
            time.sleep(0.05)
    sys.exit("memcached.py: no server")


def store(path, thread):
    stream = connect(path)
    for i in range(6000):
        value = (f"{thread}-{i}-" * (1 + i * 37 % 300)).encode()
        stream.write(b"set t%d-%d 0 0 %d\r\n%s\r\n" % (thread, i % 400, len(value), value))
        stream.flush()
        if stream.readline() != b"STORED\r\n":
            sys.exit("memcached.py: not stored")


def read(stream, key):
    stream.write(b"get %s\r\n" % key)
    stream.flush()
    head = stream.readline().split()
    if head == [b"END"]:
        return b""
    value = stream.read(int(head[3]) + 2)
    stream.readline()
    return value


def main():
    path = sys.argv[1]
    threads = [threading.Thread(target=store, args=(path, t)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream = connect(path)
    digest = hashlib.sha256()
    for thread in range(4):
        for i in range(400):
            digest.update(read(stream, b"t%d-%d" % (thread, i)))
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
