"""The models: scikit-learn estimators that differ in how they score a sentence into a chain."""
