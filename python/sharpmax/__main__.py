"""``python -m sharpmax``: the command line, byte for byte."""

import os
import sys

from . import _core


def main() -> int:
    sys.stdout.flush()
    return _core.main([os.fsencode(word) for word in sys.argv])


if __name__ == "__main__":
    sys.exit(main())
