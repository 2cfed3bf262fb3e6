"""Heaps of the C library, which a server of many threads would otherwise hold one for each of."""

import platform
import subprocess
import sys

import pytest

# Sixteen threads that allocate at the same time, then glibc's own count of its heaps.
THREADS = """
import ctypes, sys, tempfile, threading
from core.base.processes import limit_malloc
if sys.argv[1] != "any":
    limit_malloc(int(sys.argv[1]))
libc, all_there = ctypes.CDLL(None), threading.Barrier(16)
libc.malloc.restype = ctypes.c_void_p
def allocate():
    all_there.wait()
    libc.malloc(1000)
    all_there.wait()
threads = [threading.Thread(target=allocate) for _ in range(16)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile() as file:
    stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, stream), libc.fclose(stream)
    print(file.read().count(b"<heap nr"))
"""


def heaps(limit: str) -> int:
    return int(subprocess.run([sys.executable, "-c", THREADS, limit], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has a heap for each thread")
def test_sixteen_threads_share_two_heaps_where_two_are_allowed():
    assert heaps("any") > 2
    assert heaps("2") == 2


# Sixty megabytes in small pieces are freed below one that is still used, so that the heap cannot shrink from its end.
PIECES = """
import ctypes, psutil
from core.base.processes import limit_malloc
return_free_memory = limit_malloc(2)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
pieces = [libc.malloc(1000) for _ in range(60_000)]
for piece in pieces: ctypes.memset(ctypes.c_void_p(piece), 1, 1000)
for piece in pieces[:-1]: libc.free(piece)
before = psutil.Process().memory_info().rss
return_free_memory()
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")
def test_what_is_free_in_the_middle_of_a_heap_is_given_back():
    found = subprocess.run([sys.executable, "-c", PIECES], capture_output=True, check=True).stdout
    assert int(found) > 40e6
