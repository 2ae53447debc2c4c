"""A BiLSTM with a CRF on two sentences: the smallest whole program, one sentence at a time.

Run with ``python examples/toy_bilstm_crf.py``. The comments say what hand-written versions of it often get wrong.
"""

import torch
from torch import nn

from tagline.nn import CRF
from tagline.readers.schemes import legal

LABELS = ["B", "I", "O"]
SENTENCES = [
    ("the royal bank of scotland opened a branch in leeds", "B I I I I O O O O B"),
    ("leeds castle is not in leeds", "B I O O O B"),
]


class Toy(nn.Module):
    def __init__(self, words: list[str], size: int = 8) -> None:
        super().__init__()
        self.numbers = {word: number for number, word in enumerate(words, 1)}  # 0: a word that was never seen
        self.embedding = nn.Embedding(len(words) + 1, size)
        self.lstm = nn.LSTM(size, size, bidirectional=True, batch_first=True)
        self.linear = nn.Linear(2 * size, len(LABELS))
        # Scores of the first and the last label are vectors of their own, and what is forbidden is -inf: there are no
        # labels START and END with -10000 that training could move.
        self.crf = CRF(len(LABELS), constraints=legal(LABELS, "IOB2"))

    def emissions(self, sentence: str) -> torch.Tensor:
        words = torch.tensor([[self.numbers.get(word, 0) for word in sentence.split()]], dtype=torch.long)
        if not words.numel():
            return torch.zeros(1, 0, len(LABELS))
        return self.linear(self.lstm(self.embedding(words))[0])  # begins with zeros: the same answer every time

    def loss(self, sentence: str, tags: str) -> torch.Tensor:
        return self.crf.loss(self.emissions(sentence), torch.tensor([[LABELS.index(tag) for tag in tags.split()]]))

    @torch.no_grad()
    def forward(self, sentence: str) -> tuple[list[str], float]:
        best = self.crf.k_best(self.emissions(sentence), 1)  # maxima, not sums: the score is that of the path
        return [LABELS[tag] for tag in best.tags[0, 0].tolist()], best.probabilities[0, 0].item()


torch.manual_seed(0)
model = Toy(sorted({word for words, _ in SENTENCES for word in words.split()}))
descent = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
for epoch in range(1, 101):
    losses = []
    for words, tags in SENTENCES:
        descent.zero_grad()
        losses.append(model.loss(words, tags))
        losses[-1].backward()
        descent.step()
    if epoch in (1, 10, 100):
        print(f"epoch {epoch:3d}  loss {sum(loss.item() for loss in losses):.3f}")
for sentence in (*(words for words, _ in SENTENCES), "the bank opened in wick", ""):
    tags, probability = model(sentence)
    print(f"{probability:.3f}  {' '.join(f'{w}/{t}' for w, t in zip(sentence.split(), tags, strict=True))}")
