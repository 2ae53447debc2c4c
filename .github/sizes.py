"""Print the size of every wheel in a folder; fail where one is larger than so many megabytes: sizes.py FOLDER MB."""

import sys
from pathlib import Path

wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
most = float(sys.argv[2])
sizes = {wheel.name: wheel.stat().st_size / 1e6 for wheel in wheels}
for name, size in sizes.items():
    print(f"{size:6.2f} MB  {name}")
if not wheels or max(sizes.values()) > most:
    sys.exit(f"{sys.argv[1]}: expected wheels of at most {most} MB")
