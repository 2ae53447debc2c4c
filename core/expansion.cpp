#include "expansion.h"

#include "arena.h"
#include "pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

namespace tagline {

void Release::operator()(void* memory) const { aligned_release(memory); }

void Expansion::prepare() {
    for (Source& source : sources) source.prepare();
    for (Skeleton& skeleton : skeletons) skeleton.prepare(sources);
}

namespace {

constexpr int64_t kSmallTokens = 2'000;  // below it, waking a thread costs more than it saves

std::unique_ptr<int32_t[], Release> allocate(int64_t count) {
    return std::unique_ptr<int32_t[], Release>(static_cast<int32_t*>(aligned_allocate(size_t(count), sizeof(int32_t))));
}

// One share of the sentences for each thread. Results do not depend on how they are cut.
struct Shares {
    std::vector<int64_t> bounds{0};  // sentences
    bool small;

    explicit Shares(const Expansion& expansion) : small(expansion.tokens() < kSmallTokens) {
        const int64_t tokens = expansion.tokens();
        const int64_t wanted = small ? 1 : std::min<int64_t>(threads(), tokens / kSmallTokens + 1);
        for (int64_t b = 0; b + 1 < expansion.B; ++b)
            if (expansion.bounds[b + 1] * wanted >= tokens * int64_t(bounds.size())) bounds.push_back(b + 1);
        bounds.push_back(expansion.B);
    }

    long count() const { return long(bounds.size()) - 1; }
};

bool stopped(const int& stop) { return __atomic_load_n(&stop, __ATOMIC_RELAXED) != 0; }

// The rows of one share: those of token n lie at room · n of a common array, `counts[n]` of them.
struct Dense {
    const int64_t room;  // templates
    std::unique_ptr<int32_t[], Release> ids;
    std::vector<int32_t> counts;  // [N]

    explicit Dense(const Expansion& expansion)
        : room(int64_t(expansion.skeletons.size())),
          ids(allocate(expansion.tokens() * room)),
          counts(size_t(expansion.tokens())) {}

    int32_t* row(int64_t token) { return ids.get() + token * room; }

    // Closed up into compressed rows.
    bool close(const Expansion& expansion, const Shares& shares, AttributeRows& rows, const Interrupted& interrupted) {
        const int64_t N = expansion.tokens();
        rows.offsets.resize(size_t(N) + 1);
        rows.offsets[0] = 0;
        for (int64_t n = 0; n < N; ++n) rows.offsets[size_t(n) + 1] = rows.offsets[size_t(n)] + counts[size_t(n)];
        if (rows.offsets[size_t(N)] == N * room) {
            rows.ids = std::move(ids);
            return true;
        }
        rows.ids = allocate(rows.offsets[size_t(N)]);
        int stop = 0;
        return run(shares.count(), shares.small, stop, interrupted, [&](long k) {
            const int64_t last = expansion.bounds[shares.bounds[size_t(k) + 1]];
            for (int64_t n = expansion.bounds[shares.bounds[size_t(k)]]; n < last; ++n)
                std::copy_n(row(n), counts[size_t(n)], rows.ids.get() + rows.offsets[size_t(n)]);
        });
    }
};

// Call sentence(first token, length) for the sentences of a share that have tokens.
template <class Sentence>
void for_sentences(const Expansion& expansion, int64_t first, int64_t last, const int& stop, const Sentence& sentence) {
    for (int64_t b = first; b < last && !stopped(stop); ++b)
        if (const int64_t length = expansion.bounds[b + 1] - expansion.bounds[b])
            sentence(expansion.bounds[b], length);
}

size_t most_macros(const Expansion& expansion) {
    size_t most = 1;
    for (const Skeleton& skeleton : expansion.skeletons) most = std::max(most, skeleton.macros.size());
    return most;
}

// --- numbering new attributes -----------------------------------------------------------------------------------

// A distinct key of a share. Different keys may still spell the same string.
struct Entry {
    uint64_t key, hash;
    uint32_t skeleton;
    int32_t count;
};

// The distinct keys of one share, in the order of first use; the rows hold their places in that order.
class Share {
public:
    std::vector<Entry> entries;

    Share(const Expansion& expansion, int64_t tokens)
        : expansion_(expansion), tuples_(expansion.sources, expansion.skeletons, tokens), codes_(most_macros(expansion)) {
        for (const Skeleton& skeleton : expansion.skeletons) tables_.emplace_back(skeleton.bits, tokens);
    }

    void collect(int64_t first, int64_t length, Dense& dense) {
        tuples_.load(first, length);
        const size_t templates = tables_.size();
        for (int64_t i = 0; i < length; ++i) {
            int32_t* row = dense.row(first + i);
            int32_t count = 0;
            if (i || !expansion_.after_first)
                for (size_t s = 0; s < templates; ++s) {
                    const uint64_t key = tuples_.key(s, i);
                    if (key == kAbsent) continue;
                    uint32_t& number = tables_[s].at(key);
                    if (!number) {
                        if (entries.size() >= size_t(kMostNames)) throw TooManyNames(kMostNames);
                        entries.push_back({key, 0, uint32_t(s), 0});
                        number = uint32_t(entries.size());
                    }
                    row[count++] = int32_t(number - 1);
                }
            dense.counts[size_t(first + i)] = count;
        }
    }

    void hash(const int& stop) {
        tables_.clear();
        for (size_t k = 0; k < entries.size() && !(k % 1024 == 0 && stopped(stop)); ++k) {
            tuples_.unpack(entries[k].skeleton, entries[k].key, codes_.data());
            entries[k].hash = finish_hash(tuples_.hash(entries[k].skeleton, codes_.data()));
        }
    }

    // The pieces of an attribute; `codes` and `out` are scratch, one for each thread that asks.
    void pieces(const Entry& entry, std::vector<uint32_t>& codes, std::vector<std::string_view>& out) const {
        codes.resize(codes_.size());
        tuples_.unpack(entry.skeleton, entry.key, codes.data());
        tuples_.pieces(entry.skeleton, codes.data(), out);
    }

private:
    const Expansion& expansion_;
    Tuples tuples_;
    std::vector<KeyTable> tables_;
    std::vector<uint32_t> codes_;
};

// All entries of all shares, counted through: which of them is the first with its string, and what number that gets.
class Merger {
public:
    Merger(const Expansion& expansion, const std::vector<std::unique_ptr<Share>>& shares)
        : expansion_(expansion), shares_(shares), starts_{0} {
        for (const auto& share : shares) starts_.push_back(starts_.back() + share->entries.size());
        if (starts_.back() >= ~uint32_t{0}) throw TooManyNames(kMostNames);
        firsts_.resize(starts_.back());
    }

    size_t start(size_t share) const { return starts_[share]; }
    const int32_t* ids() const { return ids_.data(); }

    // Find the firsts among the entries whose hashes fall to `part` of `parts`.
    void find_firsts(long part, long parts, const int& stop) {
        const auto mine = [&](const Entry& entry) { return long((entry.hash & 0xFFFF) * uint64_t(parts) >> 16) == part; };
        size_t count = 0;
        for (const auto& share : shares_)
            for (const Entry& entry : share->entries) count += mine(entry);
        const size_t size = std::bit_ceil(2 * count + 2);
        const int shift = 64 - std::countr_zero(size);
        struct Cell {
            uint64_t hash;
            uint32_t share, entry;
        };
        std::vector<Cell> cells(size, {0, ~uint32_t{0}, 0});
        for (size_t s = 0; s < shares_.size(); ++s) {
            const std::vector<Entry>& entries = shares_[s]->entries;
            for (size_t k = 0; k < entries.size(); ++k) {
                if (k % 1024 == 0 && stopped(stop)) return;
                if (k + 16 < entries.size()) __builtin_prefetch(&cells[entries[k + 16].hash >> shift], 1);
                const Entry& entry = entries[k];
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
            for (const Entry& entry : shares_[s]->entries) {
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
            for (size_t k = 0; k < shares_[s]->entries.size() && !(k % 1024 == 0 && stopped(stop)); ++k) {
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
    const std::vector<std::unique_ptr<Share>>& shares_;
    std::vector<size_t> starts_;
    std::vector<uint32_t> firsts_;
    std::vector<int32_t> ids_;
    std::vector<int64_t> counts_;
    std::vector<uint64_t> hashes_;  // by number

    bool same(size_t s, size_t k, size_t other_s, size_t other_k) const {
        const Entry& one = shares_[s]->entries[k];
        const Entry& other = shares_[other_s]->entries[other_k];
        if (one.skeleton == other.skeleton && one.key == other.key && !expansion_.skeletons[one.skeleton].folds())
            return true;
        return text(s, one) == text(other_s, other);
    }

    std::string text(size_t s, const Entry& entry) const {
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
            for (const Entry& entry : share->entries) counts_[firsts_[g++]] += entry.count;
    }
};

// --- looking attributes up --------------------------------------------------------------------------------------

// What has been looked up already. Values: 0 unknown as yet, 1 no attribute, id + 2.
struct Memo {
    struct Cell {
        uint64_t key = kAbsent;
        uint32_t value = 0;
    };
    uint32_t* direct = nullptr;  // by key, common to all threads
    std::vector<Cell> cells;     // of one thread; a newcomer takes the place

    int shift = 64;

    void make_cells(int64_t tokens) {
        const int bits = std::clamp(int(std::bit_width(uint64_t(tokens))), 4, 13);
        cells.resize(size_t{1} << bits);
        shift = 64 - bits;
    }
    Cell& cell(uint64_t key) { return cells[(key * 0x9E3779B97F4A7C15ull) >> shift]; }
};

// resolve(hash, pieces) gives the id of an attribute or −1; ahead(hash) is a hint that it will be asked.
template <class Ahead, class Resolve>
class Finder {
public:
    Finder(const Expansion& expansion, int64_t tokens, std::vector<Memo> memos, const Ahead& ahead,
           const Resolve& resolve)
        : expansion_(expansion),
          tuples_(expansion.sources, expansion.skeletons, tokens),
          codes_(most_macros(expansion)),
          memos_(std::move(memos)),
          ahead_(ahead),
          resolve_(resolve) {}

    void look_up(int64_t first, int64_t length, Dense& dense) {
        tuples_.load(first, length);
        const size_t templates = memos_.size();
        found_.resize(templates * size_t(length));
        open_.clear();
        for (size_t s = 0; s < templates; ++s) remember(s, length);
        for (Open& open : open_) {
            tuples_.unpack(open.skeleton, open.key, codes_.data());
            tuples_.pieces(open.skeleton, codes_.data(), pieces_);
            const uint32_t value = uint32_t(resolve_(open.hash, pieces_) + 2);
            found_[open.place] = value;
            Memo& memo = memos_[open.skeleton];
            if (memo.direct)
                __atomic_store_n(&memo.direct[open.key], value, __ATOMIC_RELAXED);
            else
                memo.cell(open.key) = {open.key, value};
        }
        for (int64_t i = 0; i < length; ++i) {
            int32_t* row = dense.row(first + i);
            int32_t count = 0;
            for (size_t s = 0; s < templates; ++s) {
                const uint32_t value = found_[s * size_t(length) + size_t(i)];
                row[count] = int32_t(value) - 2;
                count += value > 1;
            }
            dense.counts[size_t(first + i)] = count;
        }
    }

private:
    struct Open {
        uint64_t key, hash;
        uint32_t skeleton;
        size_t place;
    };
    const Expansion& expansion_;
    Tuples tuples_;
    std::vector<uint32_t> codes_;
    std::vector<std::string_view> pieces_;
    std::vector<Memo> memos_;
    const Ahead& ahead_;
    const Resolve& resolve_;
    std::vector<uint32_t> found_;  // [templates, length]
    std::vector<Open> open_;

    void remember(size_t s, int64_t length) {
        const uint64_t* keys = tuples_.keys(s);
        Memo& memo = memos_[s];
        for (int64_t i = 0; i < length; ++i) {
            const size_t place = s * size_t(length) + size_t(i);
            uint32_t value = 1;
            if (keys[i] != kAbsent && (i || !expansion_.after_first)) {
                if (memo.direct)
                    value = __atomic_load_n(&memo.direct[keys[i]], __ATOMIC_RELAXED);
                else if (const Memo::Cell& cell = memo.cell(keys[i]); cell.key == keys[i])
                    value = cell.value;
                else
                    value = 0;
                if (!value) {
                    tuples_.unpack(s, keys[i], codes_.data());
                    const uint64_t hash = finish_hash(tuples_.hash(s, codes_.data()));
                    ahead_(hash);
                    open_.push_back({keys[i], hash, uint32_t(s), place});
                }
            }
            found_[place] = value;
        }
    }
};

template <class Ahead, class Resolve>
bool find_all(const Expansion& expansion, AttributeRows& rows, const Interrupted& interrupted, const Ahead& ahead,
              const Resolve& resolve) {
    const Shares shares(expansion);
    Dense dense(expansion);
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::vector<std::unique_ptr<uint32_t, Free>> owned;
    std::vector<Memo> memos(expansion.skeletons.size());
    for (size_t s = 0; s < memos.size(); ++s) {
        const Skeleton& skeleton = expansion.skeletons[s];
        if (skeleton.folds() || skeleton.bits >= 40 || (int64_t{1} << skeleton.bits) > 4096 + 8 * expansion.tokens()) {
            memos[s].make_cells(expansion.tokens());
            continue;
        }
        owned.emplace_back(static_cast<uint32_t*>(std::calloc(size_t{1} << skeleton.bits, sizeof(uint32_t))));
        memos[s].direct = owned.back().get();
        if (!memos[s].direct) throw std::bad_alloc();
    }
    int stop = 0;
    const bool finished = run(shares.count(), shares.small, stop, interrupted, [&](long k) {
        const int64_t first = shares.bounds[size_t(k)], last = shares.bounds[size_t(k) + 1];
        Finder finder(expansion, expansion.bounds[last] - expansion.bounds[first], memos, ahead, resolve);
        for_sentences(expansion, first, last, stop,
                      [&](int64_t token, int64_t length) { finder.look_up(token, length, dense); });
    });
    return finished && dense.close(expansion, shares, rows, interrupted);
}

}  // namespace

bool expand_new(const Expansion& expansion, int64_t min_count, int64_t most, AttributeRows& rows,
                VocabularyArrays& names, const Interrupted& interrupted) {
    const Shares cuts(expansion);
    Dense dense(expansion);
    std::vector<std::unique_ptr<Share>> shares(size_t(cuts.count()));
    int stop = 0;
    const auto each = [&](const auto& call) { return run(cuts.count(), cuts.small, stop, interrupted, call); };
    if (!each([&](long k) {
            const int64_t first = cuts.bounds[size_t(k)], last = cuts.bounds[size_t(k) + 1];
            const int64_t begin = expansion.bounds[first], end = expansion.bounds[last];
            Share& share = *(shares[size_t(k)] = std::make_unique<Share>(expansion, end - begin));
            for_sentences(expansion, first, last, stop,
                          [&](int64_t token, int64_t length) { share.collect(token, length, dense); });
            share.hash(stop);
            if (min_count > 1)
                for (int64_t n = begin; n < end && !stopped(stop); ++n)
                    for (int32_t j = 0; j < dense.counts[size_t(n)]; ++j)
                        ++share.entries[size_t(dense.row(n)[j])].count;
        }))
        return false;
    Merger merger(expansion, shares);
    if (!each([&](long part) { merger.find_firsts(part, cuts.count(), stop); })) return false;
    merger.number(min_count, most);
    if (!each([&](long k) {
            const int32_t* ids = merger.ids() + merger.start(size_t(k));
            const int64_t end = expansion.bounds[cuts.bounds[size_t(k) + 1]];
            for (int64_t n = expansion.bounds[cuts.bounds[size_t(k)]]; n < end; ++n) {
                int32_t* row = dense.row(n);
                int32_t count = 0;
                for (int32_t j = 0; j < dense.counts[size_t(n)]; ++j) {
                    row[count] = ids[row[j]];
                    count += row[count] >= 0;
                }
                dense.counts[size_t(n)] = count;
            }
        }))
        return false;
    return merger.write(names, cuts.small, interrupted) && dense.close(expansion, cuts, rows, interrupted);
}

bool expand_known(const Expansion& expansion, const VocabularyView& names, AttributeRows& rows,
                  const Interrupted& interrupted) {
    return find_all(
        expansion, rows, interrupted, [&](uint64_t hash) { names.prefetch(hash); },
        [&](uint64_t hash, const std::vector<std::string_view>& pieces) { return names.find(hash, pieces); });
}

bool expand_hashed(const Expansion& expansion, int bits, AttributeRows& rows, const Interrupted& interrupted) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    return find_all(
        expansion, rows, interrupted, [](uint64_t) {},
        [mask](uint64_t hash, const std::vector<std::string_view>&) { return int32_t(hash & mask); });
}

}  // namespace tagline
