"""Tests of the chain engine: every backend against the enumeration of all labellings, and against each other."""
