"""A training script for pytorch-crf, moved to Tagline by one line: the import.

Run with ``python examples/pytorch_crf_swap.py``. The task: label the words between brackets, read by an LSTM.
"""

import torch
from torch import nn

# from torchcrf import CRF
from tagline.interop.torchcrf import CRF

WORDS, TAGS, PAD = 12, 3, 0  # 1 opens, 2 closes; tags O, B, I


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 16, padding_idx=PAD)
        self.lstm = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(32, TAGS)
        self.crf = CRF(TAGS, batch_first=True)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.linear(self.lstm(self.embedding(words))[0])


def sentences(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    words, tags = torch.randint(3, WORDS, (count, 12)), torch.zeros(count, 12, dtype=torch.long)
    for row, (first, length) in enumerate(
        torch.stack([torch.randint(0, 5, (count,)), torch.randint(1, 5, (count,))], 1)
    ):
        words[row, first], words[row, first + length + 1] = 1, 2
        tags[row, first + 1], tags[row, first + 2 : first + length + 1] = 1, 2
        words[row, first + length + 3 :] = PAD
    return words, tags


torch.manual_seed(0)
model = Tagger()
descent = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(60):
    words, tags = sentences(32)
    descent.zero_grad()
    loss = -model.crf(model(words), tags, mask=words != PAD, reduction="mean")
    loss.backward()
    descent.step()
words, tags = sentences(200)
paths = model.crf.decode(model(words), mask=words != PAD)
right = sum(path == gold[: len(path)].tolist() for path, gold in zip(paths, tags, strict=True))
print(f"loss {loss.item():.3f}, {right} of {len(paths)} sentences right")
