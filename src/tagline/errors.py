"""The errors that Tagline raises on purpose.

Each message reads ``<where>: expected <this>, got <that>`` and ends with what to do next. All of them are
``ValueError`` too, so code that knows nothing of Tagline can still catch them.
"""


class TaglineError(Exception):
    """Anything that Tagline reports to its user."""


class InputError(TaglineError, ValueError):
    """An argument or a file that cannot be used as it is."""


class NoPathError(InputError):
    """A sentence whose constraints leave no legal labelling."""


class TrainingError(TaglineError, ValueError):
    """Training that ended in numbers that are not finite; the model keeps the last weights that were."""


class StorageError(TaglineError, ValueError):
    """A model file that cannot be read, or any file that cannot be written."""
