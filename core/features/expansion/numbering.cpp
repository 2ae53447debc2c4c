// Expansion that gives new attributes their numbers. Each thread finds the distinct keys of its share of the sentences,
// and their hashes. Then the hashes are divided between the threads, and each finds the first key of every string among
// its own. Numbers follow from the order of the first keys.
#include "features/expansion/expansion.h"

#include "features/expansion/spelling.h"
#include "features/expansion/thread_shares.h"

#include <bit>
#include <string>

namespace tagline {

namespace {

// A key of a share, once. Different keys may still spell the same string.
struct DistinctKey {
    uint64_t key, hash;
    uint32_t skeleton;
    int32_t count;
};

// The distinct keys of one share, in the order of first use; the rows hold their places in that order.
class ShareKeys {
public:
    std::vector<DistinctKey> entries;

    ShareKeys(const Expansion& expansion, int64_t tokens)
        : expansion_(expansion),
          tuples_(expansion.sources, expansion.bodies, tokens),
          spelling_(expansion.sources, expansion.skeletons, expansion.bodies),
          codes_(most_macros(expansion)) {
        for (const Skeleton& skeleton : expansion.skeletons)
            tables_.emplace_back(expansion.bodies[skeleton.body].bits, tokens);
    }

    // Write the rows of sentences first … last − 1 from `at` on; returns the end.
    int32_t* collect(int64_t first, int64_t last, RowsByShare& rows, int32_t* at) {
        const int64_t* offsets = expansion_.offsets;
        tuples_.load(offsets, first, last);
        for (int64_t b = first; b < last; ++b)
            for (int64_t n = offsets[b]; n < offsets[b + 1]; ++n) {
                const int32_t* begin = at;
                if (n > offsets[b] || !expansion_.after_first) at = number_token(n - offsets[first], b - first, at);
                rows.count(n) = int32_t(at - begin);
            }
        return at;
    }

    void hash(const int& stop) {
        tables_.clear();
        for (size_t k = 0; k < entries.size() && !(k % 1024 == 0 && stopped(&stop)); ++k) {
            const size_t skeleton = entries[k].skeleton, body = expansion_.skeletons[skeleton].body;
            tuples_.unpack(body, entries[k].key, codes_.data());
            entries[k].hash = finish_hash(spelling_.hash(skeleton, spelling_.hash(body, codes_.data())));
        }
    }

    // The pieces of an attribute; `codes` and `out` are scratch, one for each thread that asks.
    void pieces(const DistinctKey& entry, std::vector<uint32_t>& codes, std::vector<std::string_view>& out) const {
        codes.resize(codes_.size());
        tuples_.unpack(expansion_.skeletons[entry.skeleton].body, entry.key, codes.data());
        spelling_.pieces(entry.skeleton, codes.data(), out);
    }

private:
    static constexpr size_t kAhead = 8;
    const Expansion& expansion_;
    Tuples tuples_;
    Spelling spelling_;
    std::vector<KeyTable> tables_;  // by skeleton: place among the entries, plus one
    std::vector<uint32_t> codes_;

    // The token and the sentence of a run.
    int32_t* number_token(int64_t token, int64_t sentence, int32_t* at) {
        for (size_t s = 0; s < tables_.size(); ++s) {
            const Skeleton& skeleton = expansion_.skeletons[s];
            const size_t body = skeleton.body, place = tuples_.place(body, skeleton.row, token, sentence);
            const uint64_t* keys = tuples_.keys(body);
            if (!tables_[s].is_direct() && place + kAhead < tuples_.num_places(body))
                tables_[s].prefetch(keys[place + kAhead]);
            if (keys[place] != kAbsent) *at++ = number(s, keys[place]);
        }
        return at;
    }

    int32_t number(size_t skeleton, uint64_t key) {
        uint32_t& number = tables_[skeleton].at(key);
        if (!number) {
            if (entries.size() >= size_t(kMostNames)) throw TooManyNames(kMostNames);
            entries.push_back({key, 0, uint32_t(skeleton), 0});
            number = uint32_t(entries.size());
        }
        return int32_t(number - 1);
    }
};

// All entries of all shares, counted through: which of them is the first with its string, and what number that gets.
class Merger {
public:
    Merger(const Expansion& expansion, const std::vector<std::unique_ptr<ShareKeys>>& shares)
        : expansion_(expansion), shares_(shares), starts_{0} {
        for (const auto& share : shares) starts_.push_back(starts_.back() + share->entries.size());
        if (starts_.back() >= ~uint32_t{0}) throw TooManyNames(kMostNames);
        firsts_.resize(starts_.back());
    }

    size_t start(size_t share) const { return starts_[share]; }
    const int32_t* ids() const { return ids_.data(); }

    // Find the firsts among the entries whose hashes fall to `part` of `parts`.
    void find_firsts(long part, long parts, const int& stop) {
        const auto mine = [&](const DistinctKey& entry) {
            return long((entry.hash & 0xFFFF) * uint64_t(parts) >> 16) == part;
        };
        size_t count = 0;
        for (const auto& share : shares_)
            for (const DistinctKey& entry : share->entries) count += mine(entry);
        const size_t size = std::bit_ceil(2 * count + 2);
        const int shift = 64 - std::countr_zero(size);
        struct Cell {
            uint64_t hash;
            uint32_t share, entry;
        };
        std::vector<Cell> cells(size, {0, ~uint32_t{0}, 0});
        for (size_t s = 0; s < shares_.size(); ++s) {
            const std::vector<DistinctKey>& entries = shares_[s]->entries;
            for (size_t k = 0; k < entries.size(); ++k) {
                if (k % 1024 == 0 && stopped(&stop)) return;
                if (k + 16 < entries.size()) __builtin_prefetch(&cells[entries[k + 16].hash >> shift], 1);
                const DistinctKey& entry = entries[k];
                if (!mine(entry)) continue;
                size_t place = entry.hash >> shift;
                while (cells[place].share != ~uint32_t{0} &&
                       !(cells[place].hash == entry.hash && same(cells[place].share, cells[place].entry, s, k)))
                    place = (place + 1) & (size - 1);
                if (cells[place].share == ~uint32_t{0}) cells[place] = {entry.hash, uint32_t(s), uint32_t(k)};
                firsts_[starts_[s] + k] = uint32_t(starts_[cells[place].share] + cells[place].entry);
            }
        }
    }

    // Give numbers in the order of first use to those with enough uses; −1 to the others.
    void number(int64_t min_count, int64_t most) {
        if (min_count > 1) add_counts();
        ids_.resize(firsts_.size());
        size_t g = 0;
        for (size_t s = 0; s < shares_.size(); ++s)
            for (const DistinctKey& entry : shares_[s]->entries) {
                if (firsts_[g] != g)
                    ids_[g] = ids_[firsts_[g]];
                else if (min_count > 1 && counts_[g] < min_count)
                    ids_[g] = -1;
                else {
                    if (int64_t(hashes_.size()) >= most) throw TooManyNames(most);
                    ids_[g] = int32_t(hashes_.size());
                    hashes_.push_back(entry.hash);
                }
                ++g;
            }
    }

    bool write(VocabularyArrays& names, bool small, const Interrupted& interrupted) const {
        names.offsets.assign(hashes_.size() + 1, 0);
        int stop = 0;
        const auto named = [&](size_t s, const auto& call) {  // call(pieces, id) for the entries that got a number
            std::vector<uint32_t> codes;
            std::vector<std::string_view> pieces;
            for (size_t k = 0; k < shares_[s]->entries.size() && !(k % 1024 == 0 && stopped(&stop)); ++k) {
                const size_t g = starts_[s] + k;
                if (firsts_[g] != g || ids_[g] < 0) continue;
                shares_[s]->pieces(shares_[s]->entries[k], codes, pieces);
                call(pieces, size_t(ids_[g]));
            }
        };
        const auto each_share = [&](const auto& call) {
            return run(long(shares_.size()), small, stop, interrupted, [&](long s) { named(size_t(s), call); });
        };
        if (!each_share([&](const auto& pieces, size_t id) {
                for (const std::string_view piece : pieces) names.offsets[id + 1] += int64_t(piece.size());
            }))
            return false;
        for (size_t id = 0; id < hashes_.size(); ++id) names.offsets[id + 1] += names.offsets[id];
        names.bytes.resize(size_t(names.offsets.back()));
        if (!each_share([&](const auto& pieces, size_t id) {
                char* at = names.bytes.data() + names.offsets[id];
                for (const std::string_view piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
            }))
            return false;
        build_index(hashes_, names.slots, names.marks);
        return true;
    }

private:
    const Expansion& expansion_;
    const std::vector<std::unique_ptr<ShareKeys>>& shares_;
    std::vector<size_t> starts_;
    std::vector<uint32_t> firsts_;
    std::vector<int32_t> ids_;
    std::vector<int64_t> counts_;
    std::vector<uint64_t> hashes_;  // by number

    bool same(size_t s, size_t k, size_t other_s, size_t other_k) const {
        const DistinctKey& first = shares_[s]->entries[k];
        const DistinctKey& other = shares_[other_s]->entries[other_k];
        const Body& body = expansion_.bodies[expansion_.skeletons[first.skeleton].body];
        if (first.skeleton == other.skeleton && first.key == other.key && !body.folds()) return true;
        return text(s, first) == text(other_s, other);
    }

    std::string text(size_t s, const DistinctKey& entry) const {
        std::vector<uint32_t> codes;
        std::vector<std::string_view> pieces;
        shares_[s]->pieces(entry, codes, pieces);
        std::string joined;
        for (const std::string_view piece : pieces) joined += piece;
        return joined;
    }

    void add_counts() {
        counts_.assign(firsts_.size(), 0);
        size_t g = 0;
        for (const auto& share : shares_)
            for (const DistinctKey& entry : share->entries) counts_[firsts_[g++]] += entry.count;
    }
};

}  // namespace

bool expand_new(const Expansion& expansion, int64_t min_count, int64_t most, ExpandedRows& rows,
                VocabularyArrays& names, const Interrupted& interrupted) {
    const ThreadShares cuts(expansion);
    RowsByShare filled(expansion);
    std::vector<std::unique_ptr<ShareKeys>> shares(size_t(cuts.count()));
    int stop = 0;
    const auto each = [&](const auto& call) { return run(cuts.count(), cuts.small, stop, interrupted, call); };
    const auto token = [&](long share) { return expansion.offsets[cuts.offsets[size_t(share)]]; };
    if (!each([&](long k) {
            ShareKeys& share = *(shares[size_t(k)] = std::make_unique<ShareKeys>(expansion, token(k + 1) - token(k)));
            int32_t* const begin = filled.begin(expansion, cuts.offsets[size_t(k)]);
            int32_t* end = begin;
            for_runs(expansion, cuts, k, stop,
                     [&](int64_t first, int64_t last) { end = share.collect(first, last, filled, end); });
            share.hash(stop);
            if (min_count > 1)
                for (const int32_t* at = begin; at < end; ++at) ++share.entries[size_t(*at)].count;
        }))
        return false;
    Merger merger(expansion, shares);
    if (!each([&](long part) { merger.find_firsts(part, cuts.count(), stop); })) return false;
    merger.number(min_count, most);
    if (!each([&](long k) {
            const int32_t* ids = merger.ids() + merger.start(size_t(k));
            int32_t* to = filled.begin(expansion, cuts.offsets[size_t(k)]);
            const int32_t* from = to;
            for (int64_t n = token(k); n < token(k + 1); ++n) {
                const int32_t *const begin = to, *const end = from + filled.count(n);
                for (; from < end; ++from) {
                    *to = ids[*from];
                    to += *to >= 0;
                }
                filled.count(n) = int32_t(to - begin);
            }
        }))
        return false;
    return merger.write(names, cuts.small, interrupted) && filled.close(expansion, cuts, rows, interrupted);
}

}  // namespace tagline
