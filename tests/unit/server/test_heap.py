"""The policy for memory that was freed."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
from anvil_trio.server.heap import keep_freed_memory

def use():
    for _ in range(100):
        blocks = [b"x" * 100_000 for _ in range(8)]
        del blocks

if sys.argv[1] == "kept":
    keep_freed_memory()
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    """How many pages a fresh process is given anew while it makes and frees large blocks."""
    asked = [sys.executable, "-c", FAULTS, how]
    return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has its own ways")
def test_blocks_as_large_as_a_body_are_made_of_memory_that_is_there():
    """`keep_freed_memory`: what one request has freed the next one uses, at no fault of a page."""
    assert faults("kept") < 100
    assert faults("as it is") > 1000
