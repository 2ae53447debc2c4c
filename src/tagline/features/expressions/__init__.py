"""Regular expressions without backtracking: read into trees, made into programs of states, searched by the core."""
