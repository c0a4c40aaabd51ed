# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work for Python: containers, text, compression, threads, forks; prints digests."""
import gc
import hashlib
import json
import multiprocessing
import os
import random
import re
import threading
import zlib


def digest(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def containers(seed):
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefgh", k=rng.randrange(1, 12))) for _ in range(30_000)]
    index = {}
    for i, word in enumerate(words):
        index.setdefault(word, []).append(i)
    rng.shuffle(words)
    for word in words[:10_000]:
        index.pop(word, None)
    return digest(sorted(index.items())[:3000]), len(index), digest(sorted(set(words)))


def texts():
    text = " ".join(f"{i:x}{i * i}" for i in range(30_000))
    found = re.findall(r"(\w)\w*\1", text)
    parsed = json.loads(json.dumps({str(i): [i, str(i) * 3, {"n": i}] for i in range(10_000)}))
    return digest(found), digest(sorted(parsed.items())), len(zlib.decompress(zlib.compress(text.encode(), 9)))


def cycles():
    for _ in range(30):
        nodes = [{} for _ in range(2000)]
        for a, b in zip(nodes, nodes[1:]):
            a["next"], b["previous"] = b, a
        del nodes
    return gc.collect() > 0


def in_threads():
    results = {}
    threads = [threading.Thread(target=lambda t=t: results.update({t: containers(t)[1]})) for t in range(4)]
    for thread in threads:
        thread.start()
    forked = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0 if texts()[2] > 0 and len([[i] for i in range(10_000)]) == 10_000 else 1)
        forked.append(os.waitpid(child, 0)[1])
    for thread in threads:
        thread.join()
    return sorted(results.items()), forked


def main():
    print(containers(1), containers(2))
    print(texts())
    print(cycles())
    print(in_threads())
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(containers, range(5)))
    big = bytearray()
    for i in range(200):
        big += bytes([i]) * 100_000
    print(hashlib.sha256(big).hexdigest())


if __name__ == "__main__":
    main()
