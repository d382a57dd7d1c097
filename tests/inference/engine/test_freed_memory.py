"""What is freed between what stays comes back to the system, where it is much."""

import needs
import numpy as np

from biasgrid.inference.engine.hardware import MemoryTrimmer, resident_bytes

MB = 2**20
BLOCK = 2**16


@needs.glibc.mark
def test_freed_memory_is_given_back_where_it_is_much() -> None:
    patient, eager = MemoryTrimmer(spare_bytes=1024 * MB), MemoryTrimmer(spare_bytes=50 * MB)
    # Of 64 KB each, too small to be mapped one by one.
    blocks = [np.ones(BLOCK // 8) for _ in range(3200)]
    held = resident_bytes()
    blocks = blocks[::20]
    patient.check()
    assert resident_bytes() > held - 50 * MB
    eager.check()
    assert resident_bytes() < held - 150 * MB
    assert all(block.all() for block in blocks)
