#include "scoring/word_sums.h"

#include "features/expansion/finder.h"
#include "features/expansion/spelling.h"

#include <algorithm>
#include <cstring>

namespace tagline {

namespace {

constexpr size_t kWordsTogether = 64;  // looked up at once

void add_weights(const NumberedWeights& known, int32_t id, float* sums) {
    const Layout::Location at = known.layout.location(id);
    const float* row = known.weights.rows + int64_t(at.first) * known.weights.stride;
    for (int64_t j = 0; at.is_row && j < known.weights.L; ++j) sums[j] += row[j];
    for (uint32_t k = 0; k < at.cells; ++k) {
        const WeightCell<float>& cell = known.weights.cells[at.first + k];
        sums[cell.label] += cell.value;
    }
}

}  // namespace

WordLines::WordLines(Expansion lines, std::vector<size_t> derivations, std::vector<int> rows)
    : lines_(std::move(lines)), derivations_(std::move(derivations)), rows_(rows) {
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    for (const int row : rows)
        places_.push_back(size_t(std::lower_bound(rows_.begin(), rows_.end(), row) - rows_.begin()));
    for (Source& source : lines_.sources) source.pieces.emplace_back();
    lines_.prepare();
}

std::vector<float> WordLines::sums(const NumberedWeights& known, const std::vector<Words>& words, size_t count) {
    const size_t L = size_t(known.layout.L()), R = rows_.size();
    std::vector<float> sums(count * R * L, 0.0f);
    for (size_t first = 0; first < count; first += kWordsTogether) {
        const size_t last = std::min(count, first + kWordsTogether);
        load(words, first, last);
        ask(last - first);
        find(known);
        for (size_t k = 0; k < questions_.size(); ++k)
            if (ids_[k] >= 0)
                add_weights(known, ids_[k],
                            sums.data() + ((first + questions_[k].word) * R + places_[questions_[k].skeleton]) * L);
    }
    return sums;
}

void WordLines::load(const std::vector<Words>& words, size_t first, size_t last) {
    for (size_t s = 0; s < lines_.sources.size(); ++s) {
        Source& source = lines_.sources[s];
        source.pieces.resize(1);
        source.bytes.clear();
        source.prepared = 1;
        source.codes.clear();
        for (size_t w = first; w < last; ++w) {
            const std::optional<std::string_view>& word = words[derivations_[s]][w];
            source.codes.push_back(word ? uint32_t(source.pieces.size()) : 0);
            if (word) source.pieces.push_back({{}, *word});
        }
        source.prepare();
    }
}

// False where a word has no attribute.
bool WordLines::codes_of(const Body& body, size_t word, std::vector<uint32_t>& codes) const {
    codes.clear();
    for (const Macro macro : body.macros) codes.push_back(lines_.sources[size_t(macro.source)].codes[word]);
    return std::find(codes.begin(), codes.end(), 0u) == codes.end();
}

void WordLines::ask(size_t count) {
    const Spelling spelling(lines_.sources, lines_.skeletons, lines_.bodies);
    std::vector<uint32_t> codes;
    questions_.clear();
    hashes_.clear();
    for (size_t w = 0; w < count; ++w)
        for (size_t b = 0; b < lines_.bodies.size(); ++b) {
            if (!codes_of(lines_.bodies[b], w, codes)) continue;
            const PieceHash body = spelling.hash(b, codes.data());
            for (const size_t s : lines_.bodies[b].skeletons) {
                questions_.push_back({w, s});
                hashes_.push_back(finish_hash(spelling.hash(s, body)));
            }
        }
}

void WordLines::find(const NumberedWeights& known) {
    const Spelling spelling(lines_.sources, lines_.skeletons, lines_.bodies);
    std::vector<uint32_t> codes;
    ids_.resize(hashes_.size());
    const auto same = [&](size_t k, std::string_view name, const char* end) {
        const auto [word, skeleton] = questions_[k];
        return codes_of(lines_.bodies[lines_.skeletons[skeleton].body], word, codes) &&
               spelling.is(skeleton, codes.data(), name, end);
    };
    if (!known.names) return ByHash{(uint64_t{1} << known.hash_bits) - 1}.find(hashes_, ids_.data(), same);
    ByName numbers{*known.names, {}};
    for (const uint64_t hash : hashes_) numbers.prefetch(hash);
    numbers.find(hashes_, ids_.data(), same);
}

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

}  // namespace tagline
