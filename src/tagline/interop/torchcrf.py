"""pytorch-crf's interface to the letter, on Tagline's engine: change the import, keep the code and the checkpoints.

    from tagline.interop.torchcrf import CRF          # was: from torchcrf import CRF

Names, signatures, defaults, parameter names, restrictions and error texts are those of pytorch-crf 0.7.2. Three things
differ: masks with gaps are compacted (there they silently give a wrong likelihood), tags where the mask is off may be
anything, and half precision is worked out in float32. `torch.jit.script` works: a scripted module runs the same
recursions in plain PyTorch. For more than this interface offers, use `tagline.nn.CRF`.
"""

from tagline import compiled

try:
    compiled.let_torch_wait()
    import torch
except ImportError as error:
    from tagline.errors import MissingPackageError

    raise MissingPackageError("tagline.interop.torchcrf", "torch", "pip install 'tagline[torch]'", error) from None

from torch import Tensor, nn

from tagline.chain import tensors
from tagline.chain.tensors import TensorChain
from tagline.nn import checks, packing
from tagline.nn.decoded import lists_of
from tagline.nn.packing import Packing


class CRF(nn.Module):
    """Conditional random field.

    Arguments:
        num_tags: how many tags there are.
        batch_first: whether tensors are ``(batch, sequence, …)``; otherwise ``(sequence, batch, …)``.
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
            return _scripted_decode(emissions, counts, self.transitions, self.start_transitions, self.end_transitions)
        return self._decode(emissions, counts)

    def _log_likelihood(self, emissions: Tensor, tags: Tensor, counts: Tensor) -> Tensor:
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            parts = (self.transitions, self.start_transitions, self.end_transitions)
            return _scripted_log_likelihood(emissions, tags, counts, parts)
        return self._engine_log_likelihood(emissions, tags, counts)

    @torch.jit.unused
    def _engine_log_likelihood(self, emissions: Tensor, tags: Tensor, counts: Tensor) -> Tensor:
        places = packing.by_mask(counts)
        chain, gold = self._chain(places, emissions), places.pack(tags).long()
        if checks.looks(emissions.device, False):
            checks.check_values(chain, gold)
        return tensors.log_likelihood(chain, gold).to(_common_type(emissions, self.transitions))

    @torch.jit.unused
    def _decode(self, emissions: Tensor, counts: Tensor) -> list[list[int]]:
        with torch.no_grad():
            chain = self._chain(packing.by_mask(counts), emissions)
            if checks.looks(emissions.device, False):
                checks.check_values(chain, None)
            labels, _ = tensors.viterbi(chain)
        return lists_of(chain, labels)

    @torch.jit.unused
    def _chain(self, places: Packing, emissions: Tensor) -> TensorChain:
        common = _common_type(emissions, self.transitions)
        dtype = common if common == torch.float64 else torch.float32
        rows = places.pack(emissions).to(dtype)
        start, end = self.start_transitions.to(dtype), self.end_transitions.to(dtype)
        return places.chain(rows, self.transitions.to(dtype), start, end)

    def _validate(self, emissions: Tensor, tags: Tensor | None = None, mask: Tensor | None = None) -> None:
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
            first = mask[:, 0] if self.batch_first else mask[0]
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


def _compact(emissions: Tensor, tags: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move the tokens that count to the front of each sentence."""
    order = (~counts).long().argsort(dim=1, stable=True)
    moved = emissions.gather(1, order.unsqueeze(2).expand_as(emissions))
    lengths = counts.sum(1)
    inside = torch.arange(counts.size(1), device=counts.device) < lengths.unsqueeze(1)
    return moved, torch.where(inside, tags.gather(1, order), torch.zeros_like(tags)), inside


def _scripted_log_likelihood(
    emissions: Tensor, tags: Tensor, counts: Tensor, parts: tuple[Tensor, Tensor, Tensor]
) -> Tensor:
    transitions, start, end = parts
    moved, path, inside = _compact(emissions, tags, counts)
    weights = inside.to(emissions.dtype)
    nodes = torch.where(inside, moved.gather(2, path.unsqueeze(2)).squeeze(2), torch.zeros_like(weights))
    edges = transitions[path[:, :-1], path[:, 1:]] * weights[:, 1:]
    last = path.gather(1, (inside.sum(1) - 1).unsqueeze(1)).squeeze(1)
    gold = start[path[:, 0]] + nodes.sum(1) + edges.sum(1) + end[last]
    alpha = start + moved[:, 0]
    for t in range(1, moved.size(1)):
        onward = torch.logsumexp(alpha.unsqueeze(2) + transitions, 1) + moved[:, t]
        alpha = torch.where(inside[:, t].unsqueeze(1), onward, alpha)
    return gold - torch.logsumexp(alpha + end, 1)


def _scripted_decode(
    emissions: Tensor, counts: Tensor, transitions: Tensor, start: Tensor, end: Tensor
) -> list[list[int]]:
    moved, _, inside = _compact(emissions, counts.long(), counts)
    best = start + moved[:, 0]
    pointers: list[Tensor] = []
    for t in range(1, moved.size(1)):
        onward, came_from = (best.unsqueeze(2) + transitions).max(1)
        best = torch.where(inside[:, t].unsqueeze(1), onward + moved[:, t], best)
        pointers.append(came_from)
    label = (best + end).argmax(1)
    path = [label]
    for step in range(len(pointers)):
        t = len(pointers) - 1 - step
        before = pointers[t].gather(1, label.unsqueeze(1)).squeeze(1)
        label = torch.where(inside[:, t + 1], before, label)
        path.append(label)
    table = torch.stack(path, 1).flip([1])
    lengths: list[int] = inside.sum(1).tolist()
    paths: list[list[int]] = []
    for b in range(len(lengths)):
        labels: list[int] = table[b, : lengths[b]].tolist()
        paths.append(labels)
    return paths
