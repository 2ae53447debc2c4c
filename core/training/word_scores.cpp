#include "training/word_scores.h"

#include "chain/variants.h"
#include "features/finder.h"
#include "features/growing_memo.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

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

namespace {

constexpr int kMostBits = 19;  // of the keys that all threads together remember of each context

// The weights of an attribute in 64 bits: nothing, a row, the one cell there is, or several cells.
enum Weights : uint64_t { kNothing, kRow, kCell, kCells };

constexpr uint64_t packed(Weights kind, uint32_t index, uint32_t rest) {
    return uint64_t(kind) << 62 | uint64_t(index) << 32 | rest;
}
constexpr Weights kind_of(uint64_t weights) { return Weights(weights >> 62); }
constexpr uint32_t index_of(uint64_t weights) { return uint32_t(weights >> 32) & 0x3FFFFFFF; }
constexpr uint32_t rest_of(uint64_t weights) { return uint32_t(weights); }

struct WeightsOf {
    const Layout& layout;
    const WeightCell<float>* cells;

    uint64_t operator()(int32_t id) const {
        if (id < 0) return packed(kNothing, 0, 0);
        const Layout::Location at = layout.location(id);
        if (at.is_row) return packed(kRow, at.first, 0);
        if (at.cells != 1) return at.cells ? packed(kCells, at.first, at.cells) : packed(kNothing, 0, 0);
        return packed(kCell, uint32_t(cells[at.first].label), std::bit_cast<uint32_t>(cells[at.first].value));
    }
};

template <class Numbers>
class Several final : public SeveralWords {
public:
    Several(const Expansion& expansion, const Contexts& contexts, int memo_bits, const Numbers& numbers,
            const Layout& layout, const WeightTable<float>& weights)
        : expansion_(expansion),
          weights_(weights),
          finder_(expansion, contexts, memos(contexts, memo_bits), numbers, WeightsOf{layout, weights.cells}) {
        if (std::max(layout.rows(), layout.cells()) >> 30) throw std::length_error("too many weights");
    }

    // Rows first, then cells: both in the order of the lines.
    void score(int64_t first, int64_t last, bool add, float* out) override {
        const int64_t* offsets = expansion_.offsets;
        finder_.load(first, last);
        rows_.clear();
        cells_.clear();
        cell_offsets_.assign(1, 0);
        for (int64_t b = first; b < last; ++b) list(finder_.values(b), offsets[b + 1] - offsets[b]);
        const int64_t tokens = offsets[last] - offsets[first];
        active_variant().float32.emit(weights_, rows_.view(), 0, tokens, 1.0f, add, out);
        for (int64_t n = 0; n < tokens; ++n, out += weights_.L)
            for (size_t k = cell_offsets_[size_t(n)]; k < cell_offsets_[size_t(n) + 1]; ++k)
                out[cells_[k].label] += cells_[k].value;
    }

private:
    const Expansion& expansion_;
    const WeightTable<float>& weights_;
    Finder<Numbers, GrowingMemo, WeightsOf> finder_;
    OccurrenceLists rows_;
    UnsetVector<WeightCell<float>> cells_;
    std::vector<size_t> cell_offsets_;

    static std::vector<GrowingMemo> memos(const Contexts& contexts, int bits) {
        std::vector<GrowingMemo> memos;
        for (const Body& key : contexts.keys) memos.emplace_back(key.skeletons.size(), bits);
        return memos;
    }

    // List the rows and cells of a sentence's T tokens.
    void list(const std::vector<const uint64_t*>& values, int64_t T) {
        for (int64_t t = 0; t < T; ++t) {
            const size_t row = rows_.rows.size(), cell = cells_.size();
            rows_.rows.resize(row + values.size());
            cells_.resize(cell + values.size());
            uint32_t* to_row = rows_.rows.data() + row;
            WeightCell<float>* to_cell = cells_.data() + cell;
            bool more = false;
            for (const uint64_t* of_template : values) {  // the kind cannot be foreseen: both are written, one may grow
                const uint64_t weights = of_template[t];
                *to_row = index_of(weights);
                *to_cell = {std::bit_cast<float>(rest_of(weights)), int32_t(index_of(weights))};
                to_row += kind_of(weights) == kRow;
                to_cell += kind_of(weights) == kCell;
                more |= kind_of(weights) == kCells;
            }
            rows_.rows.resize(size_t(to_row - rows_.rows.data()));
            cells_.resize(size_t(to_cell - cells_.data()));
            if (more) list_cells(values, t);
            rows_.row_offsets.push_back(int64_t(rows_.rows.size()));
            rows_.cell_offsets.push_back(0);
            cell_offsets_.push_back(cells_.size());
        }
    }

    void list_cells(const std::vector<const uint64_t*>& values, int64_t t) {
        for (const uint64_t* of_template : values)
            if (kind_of(of_template[t]) == kCells)
                for (uint32_t k = 0; k < rest_of(of_template[t]); ++k)
                    cells_.push_back(weights_.cells[index_of(of_template[t]) + k]);
    }
};

}  // namespace

std::unique_ptr<SeveralWords> WordScores::new_several() const {
    const int bits = std::max(8, kMostBits - int(std::bit_width(unsigned(threads() - 1))));
    if (names_)
        return std::make_unique<Several<ByName>>(several_, contexts_, bits, ByName{*names_, {}}, layout_, weights_);
    const ByHash hashes{(uint64_t{1} << hash_bits_) - 1};
    return std::make_unique<Several<ByHash>>(several_, contexts_, bits, hashes, layout_, weights_);
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
      words_(sums_.size()),
      seen_(several_.sources.size()) {
    several_.prepare();
    contexts_ = joint_contexts(several_);
}

void WordScores::add(size_t column, std::span<const std::string_view> names, const float* sums, int64_t count,
                     std::span<const Words> words) {
    for (const std::string_view name : names) words_[column].intern(name);
    size_t k = 0;
    for (size_t s = 0; s < columns_.size(); ++s) {
        if (columns_[s] != column) continue;
        Source& source = several_.sources[s];
        for (const std::optional<std::string_view>& word : words[k]) {
            if (source.plain) {
                source.pieces.push_back({{}, word.value_or("")});
                continue;
            }
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
    const ThreadShares shares(several_);
    while (long(workers_.size()) < shares.count()) {
        workers_.push_back(std::make_unique<Worker>());
        workers_.back()->several = new_several();
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
    if (!add || !several_.skeletons.empty()) worker.several->score(first, last, add, to);
}

}  // namespace tagline
