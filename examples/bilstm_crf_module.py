"""A BiLSTM-CRF module for padded batches, with label smoothing and the rules of a tag scheme.

Run with ``python examples/bilstm_crf_module.py``. The task: find the names that stand between brackets.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tagline.nn import CRF, losses
from tagline.readers.schemes import legal

LABELS = ["O", "B-NAME", "I-NAME"]
WORDS, PAD = 20, 0  # 1 opens, 2 closes


class BiLSTMCRF(nn.Module):
    def __init__(self, words: int, size: int, hidden: int, labels: list[str], smoothing: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=PAD)
        self.lstm = nn.LSTM(size, hidden, num_layers=2, bidirectional=True, batch_first=True)  # hidden: of a direction
        self.linear = nn.Linear(2 * hidden, len(labels))
        self.crf = CRF(len(labels), constraints=legal(labels, "IOB2"))  # -inf in training and in decoding
        self.objective = losses.LabelSmoothing(smoothing) if smoothing else losses.nll  # over whole labellings

    def emissions(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)  # no padding was read
        return self.linear(states)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        return self.crf.loss(self.emissions(words, lengths), tags, lengths=lengths, objective=self.objective)

    @torch.no_grad()
    def predict(self, words: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
        return self.crf.decode(self.emissions(words, lengths), lengths=lengths)


def sentences(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    words, tags = torch.randint(3, WORDS, (count, 12)), torch.zeros(count, 12, dtype=torch.long)
    lengths = torch.randint(7, 13, (count,))
    for row, (first, last) in enumerate(zip(torch.randint(0, 2, (count,)), torch.randint(3, 6, (count,)), strict=True)):
        words[row, first], words[row, last] = 1, 2
        tags[row, first + 1], tags[row, first + 2 : last] = 1, 2
        words[row, lengths[row] :] = PAD
    return words[:, : lengths.max()], lengths, tags[:, : lengths.max()]


torch.manual_seed(0)
model = BiLSTMCRF(WORDS, 16, 16, LABELS, smoothing=0.05).train()
descent = torch.optim.AdamW(model.parameters(), lr=0.02)
for _ in range(60):
    descent.zero_grad()
    loss = model(*sentences(32))
    loss.backward()
    descent.step()
words, lengths, tags = sentences(200)
right = sum(p == gold[: len(p)].tolist() for p, gold in zip(model.predict(words, lengths), tags, strict=True))
print(f"loss {loss.item():.3f}, {right} of {len(words)} sentences right")
