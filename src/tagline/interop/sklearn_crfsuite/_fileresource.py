"""Where sklearn-crfsuite has the file of a model; ours is in `model_files`. Its pickles name this place."""

from tagline.interop.sklearn_crfsuite.model_files import FileResource as FileResource

__all__ = ["FileResource"]
