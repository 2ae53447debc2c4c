"""The module: pytorch-crf's names, signatures, defaults, parameter names, restrictions and error texts (0.7.2).

Its methods turn padded tensors into a `TensorChain` and ask `tagline.chain.tensors`; also `_compute_score`,
`_compute_normalizer` and `_viterbi_decode`, which are not public there but used by other projects. Masks with gaps are
compacted (there they silently give a wrong likelihood), tags where the mask is off may be anything, and half precision
is worked out in float32. For more than this interface offers, use `tagline.nn.CRF`.
"""

import torch
from torch import Tensor, nn

from tagline.chain import tensors
from tagline.chain.tensors import TensorChain
from tagline.interop.torchcrf import scripted
from tagline.nn import checks, packing
from tagline.nn.checks import tracing
from tagline.nn.decoded import lists_of
from tagline.nn.packing import Packing
from tagline.nn.scripted import compiled

REMEDY = "mask such tokens"


class CRF(nn.Module):
    """Conditional random field.

    Arguments:
        num_tags: how many tags there are.
        batch_first: whether tensors are ``(batch, sequence, …)``; otherwise ``(sequence, batch, …)``.

    >>> import torch
    >>> from tagline.interop.torchcrf import CRF
    >>> crf = CRF(5, batch_first=True)
    >>> emissions, tags = torch.randn(2, 3, 5), torch.tensor([[0, 1, 2], [3, 4, 0]])
    >>> loss = -crf(emissions, tags)  # forward returns a log-likelihood: mind the minus
    >>> [len(path) for path in crf.decode(emissions)], bool(loss > 0)
    ([3, 3], True)
    """

    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly from −0.1 to 0.1."""
        nn.init.uniform_(self.start_transitions, -0.1, 0.1)
        nn.init.uniform_(self.end_transitions, -0.1, 0.1)
        nn.init.uniform_(self.transitions, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(num_tags={self.num_tags})"

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor | None = None, reduction: str = "sum") -> Tensor:
        """Compute the log-likelihood of tags given emissions; ``-crf(emissions, tags)`` is a loss.

        Arguments:
            emissions: ``(sequence, batch, num_tags)``, or ``(batch, sequence, num_tags)`` for batch_first.
            tags: ``(sequence, batch)`` or ``(batch, sequence)``.
            mask: as the tags, on for the tokens that count.
            reduction: ``none|sum|mean|token_mean``, over the batch or over the tokens.
        """
        self._validate(emissions, tags, mask)
        if reduction not in ("none", "sum", "mean", "token_mean"):
            raise ValueError(f"invalid reduction: {reduction}")
        if mask is None:
            mask = torch.ones_like(tags, dtype=torch.bool)
        counts = mask != 0
        if self.batch_first:
            llh = self._log_likelihood(emissions, tags, counts)
        else:
            llh = self._log_likelihood(emissions.transpose(0, 1), tags.transpose(0, 1), counts.transpose(0, 1))
        if reduction == "none":
            return llh
        if reduction == "sum":
            return llh.sum()
        if reduction == "mean":
            return llh.mean()
        return llh.sum() / counts.sum()

    @torch.jit.export
    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """Find the most likely tag sequence of each item, unpadded.

        Arguments:
            emissions: as in `forward`.
            mask: as in `forward`.
        """
        self._validate(emissions, None, mask)
        if mask is None:
            mask = torch.ones(emissions.shape[:2], dtype=torch.bool, device=emissions.device)
        counts = mask != 0
        if not self.batch_first:
            emissions, counts = emissions.transpose(0, 1), counts.transpose(0, 1)
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            return scripted.decode(emissions, counts, self.transitions, self.start_transitions, self.end_transitions)
        return self._decode(emissions, counts)

    def _log_likelihood(self, emissions: Tensor, tags: Tensor, counts: Tensor) -> Tensor:
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            parts = (self.transitions, self.start_transitions, self.end_transitions)
            return scripted.log_likelihood(emissions, tags, counts, parts)
        return self._engine_log_likelihood(emissions, tags, counts)

    @torch.jit.unused
    def _engine_log_likelihood(self, emissions: Tensor, tags: Tensor, counts: Tensor) -> Tensor:
        if tracing():
            parts = (self.transitions, self.start_transitions, self.end_transitions)
            traced: Tensor = compiled(scripted.log_likelihood)(emissions, tags, counts, parts)
            return traced
        places = packing.by_mask(counts)
        chain, gold = self._chain(places, emissions), places.pack(tags).long()
        if checks.looks(emissions.device, False):
            checks.check_values(chain, gold, REMEDY, places.steps)
        return tensors.log_likelihood(chain, gold).to(_common_type(emissions, self.transitions))

    @torch.jit.unused
    def _decode(self, emissions: Tensor, counts: Tensor) -> list[list[int]]:
        with torch.no_grad():
            places = packing.by_mask(counts)
            chain = self._chain(places, emissions)
            if checks.looks(emissions.device, False):
                checks.check_values(chain, None, steps=places.steps)
            labels, _ = tensors.viterbi(chain)
        return lists_of(chain, labels)

    @torch.jit.unused
    def _compute_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Score tags ``(sequence, batch)``, whatever `batch_first` is: ``(batch,)``."""
        places = self._places(emissions, tags, mask)
        chain, gold = self._chain(places, emissions.transpose(0, 1)), places.pack(tags.transpose(0, 1)).long()
        if checks.looks(emissions.device, False):
            checks.check_values(chain, gold, REMEDY, places.steps)
        return tensors.path_score(chain, gold).to(_common_type(emissions, self.transitions))

    @torch.jit.unused
    def _compute_normalizer(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return log Z of emissions ``(sequence, batch, num_tags)``, whatever `batch_first` is: ``(batch,)``."""
        places = self._places(emissions, None, mask)
        chain = self._chain(places, emissions.transpose(0, 1))
        if checks.looks(emissions.device, False):
            checks.check_values(chain, None, steps=places.steps)
        return tensors.log_partition(chain).to(_common_type(emissions, self.transitions))

    @torch.jit.unused
    def _viterbi_decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """Find the best tags for emissions ``(sequence, batch, num_tags)``, whatever `batch_first` is."""
        self._validate(emissions, None, mask, False)
        return self._decode(emissions.transpose(0, 1), (mask != 0).transpose(0, 1))

    @torch.jit.unused
    def _places(self, emissions: Tensor, tags: Tensor | None, mask: Tensor) -> Packing:
        """Check arguments whose first axis is the sequence, and pack the tokens that count."""
        self._validate(emissions, tags, mask, False)
        return packing.by_mask((mask != 0).transpose(0, 1))

    @torch.jit.unused
    def _chain(self, places: Packing, emissions: Tensor) -> TensorChain:
        checks.check_not_traced("script the layer instead: torch.jit.script")
        common = _common_type(emissions, self.transitions)
        dtype = common if common == torch.float64 else torch.float32
        rows = places.pack(emissions).to(dtype)
        start, end = self.start_transitions.to(dtype), self.end_transitions.to(dtype)
        return places.chain(rows, self.transitions.to(dtype), start, end)

    def _validate(
        self,
        emissions: Tensor,
        tags: Tensor | None = None,
        mask: Tensor | None = None,
        batch_first: bool | None = None,
    ) -> None:
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError(f"expected last dimension of emissions is {self.num_tags}, got {emissions.size(2)}")
        if tags is not None and emissions.shape[:2] != tags.shape:
            raise ValueError(
                "the first two dimensions of emissions and tags must match, "
                f"got {_written(list(emissions.shape[:2]))} and {_written(list(tags.shape))}"
            )
        if mask is not None:
            if emissions.shape[:2] != mask.shape:
                raise ValueError(
                    "the first two dimensions of emissions and mask must match, "
                    f"got {_written(list(emissions.shape[:2]))} and {_written(list(mask.shape))}"
                )
            first = mask[:, 0] if (self.batch_first if batch_first is None else batch_first) else mask[0]
            if not bool(first.all()):
                raise ValueError("mask of the first timestep must all be on")


def _common_type(emissions: Tensor, transitions: Tensor) -> torch.dtype:
    return torch.promote_types(emissions.dtype, transitions.dtype)


def _written(shape: list[int]) -> str:
    """A shape as Python writes a tuple."""
    parts: list[str] = []
    for size in shape:
        parts.append(str(size))
    return "(" + ", ".join(parts) + (",)" if len(parts) == 1 else ")")
