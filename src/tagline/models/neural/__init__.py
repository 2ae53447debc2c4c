"""Neural taggers."""
