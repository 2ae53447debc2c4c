"""Without a compiled core there is nothing to compare with the definition."""

from tagline import compiled

collect_ignore = [] if compiled.supported_cpus() else ["test_engines.py", "test_native.py"]
