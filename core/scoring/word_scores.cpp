#include "scoring/word_scores.h"

#include "chain/variants.h"
#include "features/expansion/finder.h"
#include "features/expansion/growing_memo.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <stdexcept>

namespace tagline {

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

// What a derivation makes of words; the texts lie in `memory`, which grows by one string.
void derive(const WordDerivation& derivation, std::span<const std::string_view> words, Words& out,
            std::deque<std::string>& memory) {
    if (derivation.steps.empty()) {
        out.assign(words.begin(), words.end());
        return;
    }
    std::string text, one;
    std::vector<std::pair<size_t, size_t>> places;  // (begin, size); size 0 for nothing
    for (const std::string_view word : words) {
        const bool taken = take_steps(derivation.steps, word, one);
        places.emplace_back(text.size(), taken ? one.size() : 0);
        if (taken) text += one;
    }
    const std::string_view all = memory.emplace_back(std::move(text));
    for (const auto& [begin, size] : places) {
        out.emplace_back();
        if (size) out.back() = all.substr(begin, size);
    }
}

template <class Numbers>
class Several final : public SeveralWords {
public:
    Several(const Expansion& expansion, const Contexts& contexts, int memo_bits, const Numbers& numbers,
            const NumberedWeights& known)
        : expansion_(expansion),
          weights_(known.weights),
          finder_(expansion, contexts, memos(contexts, memo_bits), numbers,
                  WeightsOf{known.layout, known.weights.cells}) {
        if (std::max(known.layout.rows(), known.layout.cells()) >> 30) throw std::length_error("too many weights");
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
    if (known_.names)
        return std::make_unique<Several<ByName>>(several_, contexts_, bits, ByName{*known_.names, {}}, known_);
    const ByHash hashes{(uint64_t{1} << known_.hash_bits) - 1};
    return std::make_unique<Several<ByHash>>(several_, contexts_, bits, hashes, known_);
}

WordScores::WordScores(const NumberedWeights& known, std::vector<WordDerivation> derivations,
                       std::vector<WordLines> alone, Expansion several, std::vector<size_t> several_derivations)
    : known_(known),
      derivations_(std::move(derivations)),
      alone_(std::move(alone)),
      several_(std::move(several)),
      several_derivations_(std::move(several_derivations)),
      words_(alone_.size()),
      seen_(several_.sources.size()) {
    for (const WordLines& lines : alone_) sums_.emplace_back(lines.rows(), known.layout.L(), known.layout.stride());
    several_.prepare();
    contexts_ = joint_contexts(several_);
}

void WordScores::add(size_t column, std::span<const std::string_view> names, size_t count, std::vector<Words> words) {
    const int64_t before = words_[column].size();
    for (const std::string_view name : names) words_[column].intern(name);
    if (words_[column].size() - before != int64_t(names.size()))
        throw std::invalid_argument("names: expected new words, each once, got others");
    std::deque<std::string> memory;
    for (size_t d = 0; d < derivations_.size(); ++d)
        if (derivations_[d].column == column && words[d].empty()) derive(derivations_[d], names, words[d], memory);
    for (size_t s = 0; s < several_.sources.size(); ++s)
        if (derivations_[several_derivations_[s]].column == column) add(s, words[several_derivations_[s]]);
    sums_[column].add(alone_[column].sums(known_, words, count).data(), int64_t(count));
}

// More words of a source of the lines that look at several.
void WordScores::add(size_t s, const Words& words) {
    Source& source = several_.sources[s];
    for (const std::optional<std::string_view>& word : words) {
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
}

bool WordScores::emissions(const std::vector<const int32_t*>& numbers, const int64_t* offsets, int64_t B, float* out,
                           const Interrupted& interrupted) {
    several_.offsets = offsets;
    several_.B = B;
    for (size_t s = 0; s < several_.sources.size(); ++s)
        several_.sources[s].ids = numbers[derivations_[several_derivations_[s]].column];
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
    float* to = out + offsets[first] * known_.layout.L();
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
