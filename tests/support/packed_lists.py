"""Lists of numbers and strings as a page packs them (src/report/data/fields.h), unpacked."""
import base64
import math
import struct


def unpacked(value):
    """The same with lists in the place of every packed one."""
    if isinstance(value, list):
        return [unpacked(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"float32", "width"}:
        return numbers_in(**value)
    if set(value) == {"words", "places"}:
        return [value["words"][place] for place in value["places"]]
    return {name: unpacked(part) for name, part in value.items()}


def numbers_in(float32, width):
    raw = base64.b64decode(float32)
    numbers = [None if math.isnan(x) else float(f"{x:.6g}") for x in struct.unpack(f"<{len(raw) // 4}f", raw)]
    return [numbers[i:i + width] for i in range(0, len(numbers), width)] if width else numbers
