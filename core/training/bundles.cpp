#include "training/bundles.h"

#include <algorithm>

namespace tagline {

namespace {

constexpr int64_t kLeastTokens = 1'024;   // of a lane, with the number of attributes that most tokens have
constexpr int64_t kLeastCount = 16;       // tokens that have a bundle; 12 and 24 are as fast (CoNLL-2000), 8 is slower
constexpr int64_t kMostPositions = 64;    // bits of a mask
constexpr size_t kMostGroups = 6;         // their subsets are listed
constexpr int64_t kMostLabels = 128;      // beyond, an evaluation is spent between labels
constexpr int64_t kSample = 4'096;        // tokens, at least
constexpr int64_t kAhead = 96;            // as in Layout::place
constexpr int64_t kLeastSaved = 1;        // visits of a token that a group saves: those of two positions do not pay

// Positions of a token's attributes. The first one determines the others.
struct Group {
    std::vector<int64_t> positions;
    uint64_t mask = 0;
};

// The number of attributes that most tokens have.
int64_t common_width(const AttributeIds& tokens, int64_t N, int64_t& count) {
    std::vector<int64_t> counts(size_t(kMostPositions) + 1, 0);
    for (int64_t n = 0; n < N; ++n) {
        const int64_t width = tokens.offsets[n + 1] - tokens.offsets[n];
        if (width <= kMostPositions) ++counts[size_t(width)];
    }
    const auto most = std::max_element(counts.begin(), counts.end());
    count = *most;
    return most - counts.begin();
}

// How often tokens of a sample have the same attribute at a position, and what else they have in common then.
struct Agreement {
    int64_t tokens = 0;            // of the sample
    std::vector<int64_t> repeats;  // [K] those whose attribute at p an earlier token has
    std::vector<int32_t> agree;    // [K, K] those of them that have its attribute at q, too

    // `first` has a −1 for each attribute, and again when this is done.
    Agreement(const AttributeIds& lane, int64_t N, int64_t K, int64_t count, std::vector<int32_t>& first)
        : repeats(size_t(K), 0), agree(size_t(K * K), 0) {
        const int64_t step = std::max<int64_t>(1, count / kSample);
        std::vector<const int32_t*> sample;
        for (int64_t n = 0, seen = 0; n < N; ++n)
            if (lane.offsets[n + 1] - lane.offsets[n] == K && seen++ % step == 0)
                sample.push_back(lane.ids + lane.offsets[n]);
        tokens = int64_t(sample.size());
        for (int64_t p = 0; p < K; ++p) {
            int32_t* const same = agree.data() + p * K;
            for (size_t k = 0; k < sample.size(); ++k) {
                int32_t& earlier = first[size_t(sample[k][p])];
                if (earlier < 0) {
                    earlier = int32_t(k);
                    continue;
                }
                const int32_t *mine = sample[k], *other = sample[size_t(earlier)];
                for (int64_t q = 0; q < K; ++q) same[q] += mine[q] == other[q];
                ++repeats[size_t(p)];
            }
            for (const int32_t* ids : sample) first[size_t(ids[p])] = -1;
        }
    }
};

// Disjoint groups of positions, those first that save most.
std::vector<Group> find_groups(const Agreement& agreement, int64_t K) {
    std::vector<Group> groups;
    uint64_t taken = 0;
    while (groups.size() < kMostGroups) {
        int64_t best_gain = agreement.tokens * kLeastSaved;
        Group best;
        for (int64_t p = 0; p < K; ++p) {
            if (taken >> p & 1) continue;
            const int64_t repeats = agreement.repeats[size_t(p)];
            Group group{{p}, uint64_t(1) << p};
            for (int64_t q = 0; q < K; ++q)
                if (q != p && !(taken >> q & 1) && agreement.agree[size_t(p * K + q)] == repeats) {
                    group.positions.push_back(q);
                    group.mask |= uint64_t(1) << q;
                }
            const int64_t gain = int64_t(group.positions.size() - 1) * repeats;
            if (gain > best_gain) {
                best_gain = gain;
                best = std::move(group);
            }
        }
        if (!best.mask) break;
        taken |= best.mask;
        groups.push_back(std::move(best));
    }
    return groups;
}

// Rows and cells, added to where a list of them ends.
struct Writer {
    const Layout& layout;
    uint32_t *row, *cell;

    void add(int32_t attribute) {
        const Layout::Location location = layout.location(attribute);
        *row = location.first;  // as in Layout::place: both are written, one of them grows
        row += location.is_row;
        cell[0] = location.first;
        cell[1] = location.first + 1;
        for (uint32_t q = 2; q < location.cells; ++q) cell[q] = location.first + q;
        cell += location.cells;
    }
};

class LaneBundler {
public:
    LaneBundler(const Layout& layout, const AttributeIds& tokens, int64_t N, BundledLists& lists)
        : layout_(layout), tokens_(tokens), N_(N), lists_(lists), first_(size_t(layout.attributes()), -1) {}

    bool find() {
        int64_t count;
        K_ = common_width(tokens_, N_, count);
        if (K_ < 2 || count < kLeastTokens) return false;
        groups_ = find_groups(Agreement(tokens_, N_, K_, count, first_), K_);
        int64_t saved = 0;
        for (const Group& group : groups_) saved += number(group);
        return saved >= N_ * kLeastSaved;
    }

    void write(int64_t first_row);

private:
    const Layout& layout_;
    const AttributeIds& tokens_;
    int64_t N_, K_ = 0;
    BundledLists& lists_;
    std::vector<int32_t> first_;  // [attributes] a token, −1 between uses
    std::vector<Group> groups_;
    std::vector<std::vector<int32_t>> bundles_;  // [groups][N] the bundle of a token, −1 where it has none

    int64_t visits_of(int32_t attribute) const {
        const Layout::Location location = layout_.location(attribute);
        return location.is_row ? 1 : location.cells;
    }
    const int32_t* ids_of(int64_t n) const { return tokens_.ids + tokens_.offsets[n]; }
    bool is_common(int64_t n) const { return tokens_.offsets[n + 1] - tokens_.offsets[n] == K_; }
    void find_equals(const Group& group, std::vector<int32_t>& equal, std::vector<int32_t>& counts);
    int64_t number(const Group& group);
    void add_members(const Group& group, const int32_t* ids);
};

// For each token the first one with the same tuple, −1 where the first with its leading attribute has another tuple.
void LaneBundler::find_equals(const Group& group, std::vector<int32_t>& equal, std::vector<int32_t>& counts) {
    const int64_t leader = group.positions[0];
    for (int64_t n = 0; n < N_; ++n) {
        if (!is_common(n)) continue;
        const int32_t* const ids = ids_of(n);
        int32_t& first = first_[size_t(ids[leader])];
        if (first < 0) first = int32_t(n);
        const int32_t* const others = ids_of(first);
        int32_t different = 0;
        for (const int64_t q : group.positions) different |= ids[q] ^ others[q];
        if (different) continue;
        equal[size_t(n)] = first;
        ++counts[size_t(first)];
    }
    for (int64_t n = 0; n < N_; ++n)
        if (is_common(n)) first_[size_t(ids_of(n)[leader])] = -1;
}

// Number the tuples of a group that pay, in the order of their first tokens; returns how many visits they save.
int64_t LaneBundler::number(const Group& group) {
    std::vector<int32_t> equal(size_t(N_), -1), counts(size_t(N_), 0);
    find_equals(group, equal, counts);
    int64_t saved = 0;
    for (int64_t n = 0; n < N_; ++n) {
        const int32_t first = equal[size_t(n)];
        if (first < 0) continue;
        if (first == n) {  // from here on its entry is the bundle's number
            int64_t visits = 0;
            for (const int64_t q : group.positions) visits += visits_of(ids_of(n)[q]);
            const int64_t count = counts[size_t(n)], number = int64_t(lists_.counts.size());
            counts[size_t(n)] = -1;
            if (count >= kLeastCount && visits > 1 && number < kMostBundles) {
                counts[size_t(n)] = int32_t(number);
                lists_.counts.push_back(count);
                add_members(group, ids_of(n));
                saved += (visits - 1) * count;
            }
        }
        equal[size_t(n)] = counts[size_t(first)];
    }
    bundles_.push_back(std::move(equal));
    return saved;
}

void LaneBundler::add_members(const Group& group, const int32_t* ids) {
    OccurrenceLists& members = lists_.members;
    for (const int64_t q : group.positions) {
        const Layout::Location location = layout_.location(ids[q]);
        if (location.is_row) members.rows.push_back(location.first);
        for (uint32_t cell = 0; cell < location.cells; ++cell) members.cells.push_back(location.first + cell);
    }
    members.row_offsets.push_back(int64_t(members.rows.size()));
    members.cell_offsets.push_back(int64_t(members.cells.size()));
}

void LaneBundler::write(int64_t first_row) {
    const int64_t end = tokens_.offsets[N_], most_cells = std::max<int64_t>(layout_.most_cells(), 2);
    OccurrenceLists& lists = lists_.tokens;
    lists.rows.resize(size_t(end - tokens_.offsets[0]) + 1);
    lists.cells.resize(size_t(end - tokens_.offsets[0] + 1) * size_t(most_cells));
    lists.row_offsets.reserve(size_t(N_) + 1);
    lists.cell_offsets.reserve(size_t(N_) + 1);
    Writer writer{layout_, lists.rows.data(), lists.cells.data()};
    const size_t G = groups_.size();
    std::vector<std::vector<int32_t>> left(size_t(1) << G);  // positions that a set of groups leaves
    for (size_t set = 0; set < left.size(); ++set)
        for (int64_t p = 0; p < K_; ++p) {
            bool is_left = true;
            for (size_t g = 0; g < G; ++g) is_left &= !(set >> g & groups_[g].mask >> p & 1);
            if (is_left) left[set].push_back(int32_t(p));
        }
    for (int64_t n = 0; n < N_; ++n) {
        const int64_t begin = tokens_.offsets[n], behind = tokens_.offsets[n + 1];
        for (int64_t k = begin + kAhead; k < std::min(behind + kAhead, end); ++k) layout_.fetch(tokens_.ids[k]);
        if (is_common(n)) {
            size_t set = 0;
            for (size_t g = 0; g < G; ++g) {
                const int32_t number = bundles_[g][size_t(n)];
                *writer.row = uint32_t(first_row + number);
                writer.row += number >= 0;
                set |= size_t(number >= 0) << g;
            }
            for (const int32_t p : left[set]) writer.add(tokens_.ids[begin + p]);
        } else {
            for (int64_t k = begin; k < behind; ++k) writer.add(tokens_.ids[k]);
        }
        lists.row_offsets.push_back(writer.row - lists.rows.data());
        lists.cell_offsets.push_back(writer.cell - lists.cells.data());
    }
    lists.rows.resize(size_t(writer.row - lists.rows.data()));
    lists.cells.resize(size_t(writer.cell - lists.cells.data()));
}

}  // namespace

bool bundle(const Layout& layout, const AttributeIds& tokens, int64_t N, int64_t first_row, BundledLists& lists) {
    if (layout.L() > kMostLabels || N > INT32_MAX || tokens.values) return false;
    LaneBundler bundler(layout, tokens, N, lists);
    if (!bundler.find()) return false;
    bundler.write(first_row);
    return true;
}

}  // namespace tagline
