"""Templates, the language of features: lines with macros, CRF++'s and Wapiti's, ready-made sets, and their wording."""
