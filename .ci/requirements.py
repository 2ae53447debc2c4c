"""Print what the package needs, a line each: requirements.py to build it, requirements.py dev,docs with extras."""

import sys
import tomllib
from pathlib import Path

settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
package = settings["project"]
extras = [line for name in ",".join(sys.argv[1:]).split(",") if name for line in package["optional-dependencies"][name]]
print("\n".join([*package["dependencies"], *extras] if extras else settings["build-system"]["requires"]))
