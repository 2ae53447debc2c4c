#include "training/word_scores.h"

#include "chain/variants.h"
#include "features/thread_shares.h"

#include <algorithm>
#include <cstring>

namespace tagline {

WordSums::WordSums(std::vector<int> rows, int64_t L, int64_t stride)
    : rows_(std::move(rows)), table_{nullptr, nullptr, L, stride} {
    for (const int row : rows_) {
        before_ = std::max(before_, -row);
        after_ = std::max(after_, row);
    }
}

void WordSums::add(const float* sums, int64_t count) {
    const int64_t width = rows() * table_.stride, L = table_.L;
    if (words_ + count > room_) {
        room_ = std::max<int64_t>({256, 2 * room_, words_ + count});
        AlignedPointer<void> memory(aligned_allocate(size_t(room_ * width), sizeof(float)));
        if (words_) std::memcpy(memory.get(), memory_.get(), size_t(words_ * width) * sizeof(float));
        memory_ = std::move(memory);
        table_.rows = static_cast<float*>(memory_.get());
    }
    float* to = table_.rows + words_ * width;
    for (int64_t k = 0; k < count * rows(); ++k, to += table_.stride, sums += L)
        std::fill(std::copy_n(sums, L, to), to + table_.stride, 0.0f);
    words_ += count;
}

void WordSums::place(const int32_t* numbers, int64_t T, OccurrenceLists& lists, std::vector<uint32_t>& scratch) const {
    const int64_t R = rows();
    scratch.resize(size_t(before_ + T + after_));
    uint32_t* word = scratch.data() + before_;
    for (int k = 1; k <= before_; ++k) word[-k] = uint32_t((k - 1) * R);
    for (int64_t t = 0; t < T; ++t) word[t] = uint32_t(numbers[t] * R);
    for (int k = 1; k <= after_; ++k) word[T + k - 1] = uint32_t((before_ + k - 1) * R);
    const size_t begin = lists.rows.size(), tokens = lists.row_offsets.size();
    lists.rows.resize(begin + size_t(T * R));
    lists.row_offsets.resize(tokens + size_t(T));
    lists.cell_offsets.resize(tokens + size_t(T), 0);
    uint32_t* row = lists.rows.data() + begin;
    for (int64_t t = 0; t < T; ++t) {
        for (int64_t r = 0; r < R; ++r) *row++ = word[t + rows_[size_t(r)]] + uint32_t(r);
        lists.row_offsets[tokens + size_t(t)] = row - lists.rows.data();
    }
}

WordScores::WordScores(const Layout& layout, const WeightTable<float>& weights, std::optional<VocabularyView> names,
                       int hash_bits, std::vector<WordSums> sums, Expansion several, std::vector<size_t> columns)
    : layout_(layout),
      weights_(weights),
      names_(names),
      hash_bits_(hash_bits),
      sums_(std::move(sums)),
      several_(std::move(several)),
      columns_(std::move(columns)),
      seen_(several_.sources.size()) {
    several_.prepare();
}

void WordScores::add(size_t column, const float* sums, int64_t count, std::span<const Words> words) {
    size_t k = 0;
    for (size_t s = 0; s < columns_.size(); ++s) {
        if (columns_[s] != column) continue;
        Source& source = several_.sources[s];
        for (const std::optional<std::string_view>& word : words[k]) {
            const uint32_t code = word ? source.first_word() + uint32_t(seen_[s].intern(*word)) : 0;
            if (code == source.pieces.size()) source.pieces.push_back({{}, *word});
            source.gaps |= !code;
            source.codes.push_back(code);
        }
        source.prepare();
        ++k;
    }
    sums_[column].add(sums, count);
}

bool WordScores::emissions(const std::vector<const int32_t*>& numbers, const int64_t* offsets, int64_t B, float* out,
                           const Interrupted& interrupted) {
    several_.offsets = offsets;
    several_.B = B;
    for (size_t s = 0; s < columns_.size(); ++s) several_.sources[s].ids = numbers[columns_[s]];
    counts_.resize(size_t(offsets[B]));
    const ThreadShares shares(several_);
    while (long(workers_.size()) < shares.count()) {
        workers_.push_back(std::make_unique<Worker>());
        workers_.back()->lookup = make_lookup(several_, names_ ? &*names_ : nullptr, hash_bits_);
    }
    int stop = 0;
    return run(shares.count(), shares.small, stop, interrupted, [&](long k) {
        for_runs(several_, shares, k, stop,
                 [&](int64_t first, int64_t last) { score(*workers_[size_t(k)], numbers, first, last, out); });
    });
}

void WordScores::score(Worker& worker, const std::vector<const int32_t*>& numbers, int64_t first, int64_t last,
                       float* out) {
    const int64_t* offsets = several_.offsets;
    float* to = out + offsets[first] * layout_.L();
    bool add = false;
    for (size_t c = 0; c < sums_.size(); ++c) {
        if (!sums_[c].rows()) continue;
        worker.lists.clear();
        for (int64_t b = first; b < last; ++b)
            sums_[c].place(numbers[c] + offsets[b], offsets[b + 1] - offsets[b], worker.lists, worker.scratch);
        active_variant().float32.emit(sums_[c].table(), worker.lists.view(), 0, offsets[last] - offsets[first], 1.0f,
                                      add, to);
        add = true;
    }
    if (!add || !several_.skeletons.empty()) add_several(worker, first, last, add, to);
}

// The lines that look at several words, or at none.
void WordScores::add_several(Worker& worker, int64_t first, int64_t last, bool add, float* out) {
    const int64_t *offsets = several_.offsets, begin = offsets[first], tokens = offsets[last] - begin;
    worker.ids.resize(size_t(tokens) * several_.skeletons.size() + 1);  // one is written before it is known to count
    worker.lookup->find(first, last, counts_.data(), worker.ids.data());
    worker.offsets.assign(1, 0);
    for (int64_t n = 0; n < tokens; ++n) worker.offsets.push_back(worker.offsets.back() + counts_[size_t(begin + n)]);
    worker.lists.clear();
    layout_.place({worker.offsets.data(), worker.ids.data(), nullptr}, 0, tokens, worker.lists);
    active_variant().float32.emit(weights_, worker.lists.view(), 0, tokens, 1.0f, add, out);
}

}  // namespace tagline
