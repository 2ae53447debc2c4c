"""hmmlearn's interface to the letter, on Tagline's engine: change the import, keep the code.

    from tagline.interop.hmmlearn import hmm          # was: from hmmlearn import hmm

Names, signatures, defaults and the letters of `params` are those of hmmlearn 0.3.3, and with the same seed EM begins at
the same place. `hmm`, `base` and `vhmm` are the module paths that users import; they hold names only, so that a second
import of them as ``hmmlearn.hmm``, after ``sys.modules["hmmlearn"] = tagline.interop.hmmlearn``, makes no second
classes.

    observations → `estimator` (questions, the loop of EM) and `markov` (π and A)
                 → a family: `categorical`, `gaussian`, `mixture`, `counts`; `variational`, `variational_gaussian`
                 → `tagline.chain` (E step, answers) and `tagline.models.hmm.emissions` (densities, M step)

docs/migrate/hmmlearn.md lists what differs. For more than this interface offers, use `tagline.HMM`.
"""

__version__ = "0.3.3"  # whose interface this is
