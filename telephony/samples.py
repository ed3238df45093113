"""Samples of an uploaded sound for the telephone. The limited process loads this file, which imports nothing slow."""

import struct
import sys
from array import array
from itertools import pairwise

# 8 kHz, 16 bits, one channel.
RATE, BYTES = 8000, 2


def resample(content: bytes) -> bytes:
    """Return the samples as the telephone has them, after a head of three numbers: rate, channels, bytes of a sample.

    Each is the mean of those that it stands for.
    """
    rate, channels, width = struct.unpack_from("<3I", content)
    frames = memoryview(content)[12:]
    result, second = array("h"), rate * channels * width
    # A second at a time, because numbers need much more memory than bytes.
    for place in range(0, len(frames), second):
        result.extend(_means(_in_16_bits(bytes(frames[place : place + second]), width), rate, channels))
    return _bytes_of(result)


def _in_16_bits(content: bytes, width: int) -> "array[int]":
    """Return the two upper bytes of each sample, the lower one first. Samples of one byte have no sign."""
    count = len(content) // width
    content = content[: count * width]
    upper, lower = content[width - 1 :: width], content[max(width - 2, 0) :: width]
    if width == 1:
        upper, lower = bytes(value ^ 0x80 for value in content), bytes(count)
    both = bytearray(BYTES * count)
    both[0::2], both[1::2] = lower, upper
    samples = array("h", bytes(both))
    if sys.byteorder == "big":
        samples.byteswap()
    return samples


def _means(samples: "array[int]", rate: int, channels: int) -> list[int]:
    count = len(samples) // channels
    bounds = [position * rate // RATE for position in range(count * RATE // rate + 1)]
    parts = [samples[begin * channels : max(begin + 1, end) * channels] for begin, end in pairwise(bounds)]
    return [sum(part) // len(part) for part in parts]


def _bytes_of(samples: "array[int]") -> bytes:
    if sys.byteorder == "big":
        samples.byteswap()
    return samples.tobytes()
