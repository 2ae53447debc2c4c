"""A CRF on a BERT, over words: what stands on [CLS], [SEP] and the later pieces of a word never reaches the CRF.

Run with ``python examples/bert_crf_module.py``. The encoder is tiny, random and made here; put a pretrained one there.
"""

from itertools import pairwise

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from tagline.nn import CRF
from tagline.readers.schemes import legal

LABELS = ["O", "B-PER", "I-PER"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "sees", "calls", *"abcde", *(f"##{letter}" for letter in "abcde")]


class BertCRF(nn.Module):
    def __init__(self, bert: BertModel, labels: list[str]) -> None:
        super().__init__()
        self.bert, self.dropout = bert, nn.Dropout(0.1)
        self.linear = nn.Linear(bert.config.hidden_size, len(labels))
        self.crf = CRF(len(labels), constraints=legal(labels, "IOB2"))

    def emissions(self, pieces: Tensor, inside: Tensor) -> Tensor:  # [B, S, L], of all pieces
        return self.linear(self.dropout(self.bert(pieces, inside).last_hidden_state))


def batch(count: int) -> tuple[Tensor, Tensor, Tensor, list[list[int]]]:
    """Pieces, which of them are no padding, which are the first of a word; the tags of words."""
    names = [["".join("abcde"[k] for k in row) for row in torch.randint(5, (1 + n % 3, 5))] for n in range(count)]
    sentences = tokenizer.encode_batch([["calls", *name, "sees"] for name in names], is_pretokenized=True)
    first = [[n is not None and n != m for m, n in pairwise([None, *pieces.word_ids])] for pieces in sentences]
    ids, inside = (torch.tensor([getattr(pieces, name) for pieces in sentences]) for name in ("ids", "attention_mask"))
    return ids, inside, torch.tensor(first), [[0, 1, *[2] * (len(name) - 1), 0] for name in names]


tokenizer = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(PIECES)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
tokenizer.enable_padding()
torch.manual_seed(0)
sizes = BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
model = BertCRF(BertModel(sizes, add_pooling_layer=False), LABELS)  # or BertModel.from_pretrained(name)
slow = [parameter for name, parameter in model.named_parameters() if not name.startswith("crf.")]
# A CRF learns next to nothing at the rate of an encoder; with a pretrained one try 5e-5 and 5e-3.
descent = torch.optim.AdamW([{"params": slow, "lr": 3e-3}, {"params": model.crf.parameters(), "lr": 3e-2}])
for _ in range(50):
    pieces, inside, first, tags = batch(32)
    gold = torch.full(first.shape, -100).masked_scatter(first, torch.tensor([tag for row in tags for tag in row]))
    descent.zero_grad()
    loss = model.crf.loss(model.emissions(pieces, inside), gold)  # -100 is not there: the layer takes any gaps
    loss.backward()
    descent.step()
pieces, inside, first, tags = batch(100)
paths = model.crf.decode(model.eval().emissions(pieces, inside), mask=first)
print(f"loss {loss.item():.3f}, {sum(map(list.__eq__, paths, tags))} of 100 sentences right")
